import type { Folders } from './folders.js';
import type { Spread } from './measure.js';
import type { Tools } from './tools.js';

/** One line of the table. */
export interface Line {
  /** The row that it belongs to. */
  row: string;
  what: string;
  /** Functions in the registry; absent where their number has no effect. */
  functions?: number;
  /** The figure of krmhub, with its unit. */
  ours: string;
  /** The peer of the ratio, and its figure. */
  against?: string;
  /** The figure of krmhub divided by that of its peer in the same round. */
  ratio?: Spread;
  /** Other figures of the same run, or why one is missing. */
  beside?: string;
  target?: Target;
  /** The figures as numbers; their names contain the units. */
  figures: Record<string, number>;
}

export interface Target {
  text: string;
  met: boolean;
}

/** How much is measured. */
export interface Effort {
  rounds: number;
  /** Milliseconds of load for one side in one round. */
  milliseconds: number;
  /** Whether the largest size is measured completely, however long it takes. */
  full: boolean;
  /** Measure little, to check that the bench itself works. */
  quick: boolean;
}

/** What a row measures with. */
export interface Bench {
  effort: Effort;
  tools: Tools;
  folders: Folders;
  /** Reports progress. */
  report(text: string): void;
}

export interface Row {
  name: string;
  title: string;
  /** Measures at one size. Rejects with an Unmeasured if it cannot. */
  run(bench: Bench, functions: number): Promise<Line[]>;
}

/** Why a row has no figures: the table shows it, and the bench does not fail. */
export class Unmeasured extends Error {
  override readonly name = 'Unmeasured';
}

export function atLeast(ratio: Spread, target: number): Target {
  return { text: `≥ ${target}`, met: ratio.median >= target };
}

export function atMost(ratio: Spread, target: number): Target {
  return { text: `≤ ${target}×`, met: ratio.median <= target };
}
