/** The spread of several rounds. */
export interface Spread {
  median: number;
  low: number;
  high: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const [below, above] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  const median = ((below ?? Number.NaN) + (above ?? Number.NaN)) / 2;
  return { median, low: sorted[0] ?? Number.NaN, high: sorted.at(-1) ?? Number.NaN };
}

/** Returns the nearest rank from below of values in ascending order; NaN if there are none. */
export function quantile(sorted: readonly number[], fraction: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
}

export interface Latency {
  /** Milliseconds. */
  p50: number;
  p99: number;
  count: number;
}

export function latency(milliseconds: readonly number[]): Latency {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99), count: sorted.length };
}

/**
 * Ratio of measurements of the same round, so that whatever slows the machine slows both sides. Rounds in which the peer
 * completed nothing do not count, unless it never completed anything: then the ratio is infinite.
 */
export function ratio(ours: readonly number[], theirs: readonly number[]): Spread {
  const ratios = ours.map((value, round) => value / theirs[round]!);
  const finite = ratios.filter(Number.isFinite);
  return spread(finite.length > 0 ? finite : ratios);
}

/**
 * Measures the sides in turn, each once per round, and starts each round with another side. Returns the
 * measurements of each side by round.
 */
export async function alternate<Side extends string, Measured>(
  rounds: number,
  sides: Readonly<Record<Side, () => Measured | Promise<Measured>>>,
): Promise<Record<Side, Measured[]>> {
  const names = Object.keys(sides) as Side[];
  const measured = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Side, Measured[]>;
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(round + turn) % names.length]!;
      measured[name].push(await sides[name]());
    }
  }
  return measured;
}

/** Returns the milliseconds that some work takes. */
export async function timed(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
