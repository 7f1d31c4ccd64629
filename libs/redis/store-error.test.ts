import { storeError } from './store-error';

it("says in plain words what Redis' client says of a connection that is down", () => {
  const said = new Error("Stream isn't writeable and enableOfflineQueue options is false");
  expect(storeError(said)).toMatchObject({
    code: 'unavailable',
    reason: 'store_away',
    message: "the store can't be reached: the connection to it is down",
  });
});
