import protobuf, { configure, util } from 'protobufjs/minimal';

// 64-bit fields as numbers instead of Long objects: all amounts, times and revisions of Berth are safe integers, and the
// checks refuse what is not. It saves an object for each of them. The generated code requires this module in place of
// protobufjs (see `npm run proto`), because it takes its defaults while it is loaded: any later is too late.
(util as { Long: unknown }).Long = null;
configure();

export = protobuf;
