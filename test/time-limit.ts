/*
 * The limit of one test of servers: for machines that are busy with other tests, and for what a test installs first. No test
 * measures time by it.
 */
jest.setTimeout(600_000);
