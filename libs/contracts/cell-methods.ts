import { berth } from '#generated/berth';
import { CELL_NAME } from '../domain/cells/cell';
import { invalidArgument } from '../domain/errors';
import { cellSummaryCodec } from './cell-summary';
import { text, whole } from './checks';
import { ruled } from './field-rules';
import { count, enumOf, flag, list, orEmpty, orUndefined, renamed } from './fields';
import { MAX_PAGE } from './limits';
import { message, type PlainOf } from './message';
import { FEW, MOST, ofServices } from './message-rules';

const wire = berth.cell.v1;
const state = enumOf(wire.CellState, 'CELL_STATE');

const cellName = ruled({ required: true, format: 'cell_name' }, (value: string, path: string): string => {
  if (CELL_NAME.test(value)) return value;
  throw invalidArgument('bad_cell_name', `${path} must be 1 to 40 letters, digits, _ and -, not '${value}'`, path);
});

/** For so long summaries are published after the top has said that it listens. */
export const LISTENING_MS = 30_000;

/** To a cell's `rpc.scheduler`, from the top: a summary of its hosts; none where the asker has it already. */
export const describeCellMethod = {
  request: message(
    wire.DescribeCellRequest,
    {
      knownDigest: whole,
      /** True when the cell is to publish its summaries for a while (`LISTENING_MS`). */
      listens: flag,
    },
    { rule: ofServices(FEW) },
  ),
  response: message(wire.DescribeCellResponse, { summary: orUndefined(cellSummaryCodec) }),
};
export type DescribeCellRequest = PlainOf<typeof describeCellMethod.request>;
export type DescribeCellResponse = PlainOf<typeof describeCellMethod.response>;

/** On `berth.events` of a cell, by one of its schedulers: what it publishes of its hosts. */
export const cellSummaryEventCodec = message(
  wire.CellSummaryEvent,
  {
    digest: whole,
    /** Undefined when it is the one that was published before. */
    summary: orUndefined(cellSummaryCodec),
    nextWithinMs: count,
  },
  { rule: ofServices(MOST) },
);
export type CellSummaryEvent = PlainOf<typeof cellSummaryEventCodec>;

/** A cell as operators see it at the top. */
const cell = message(wire.Cell, {
  name: cellName,
  state,
  reason: text,
  changedAtMs: whole,
  reachable: renamed('isReachable', flag),
  unreachableReason: text,
  summaryAgeMs: whole,
  summary: orUndefined(cellSummaryCodec),
  /** By the scheduler that answers, since it started. */
  selectedCount: whole,
  wrongGuessCount: whole,
  summaryBytes: count,
});
export type CellView = PlainOf<typeof cell>;

/** To the top's `rpc.scheduler`: the cells of the fleet, or one. */
export const listCellsMethod = {
  request: message(wire.ListCellsRequest, { cell: orEmpty(cellName) }, { rule: ofServices(FEW) }),
  response: message(wire.ListCellsResponse, { cells: list(cell, MAX_PAGE) }),
};

/** To the top's `rpc.scheduler`: whether it gives a cell new builds. */
export const setCellStateMethod = {
  request: message(wire.SetCellStateRequest, { cell: cellName, state, reason: text }, { rule: ofServices(FEW) }),
  response: message(wire.SetCellStateResponse, { cell }),
};
export type SetCellStateRequest = PlainOf<typeof setCellStateMethod.request>;
