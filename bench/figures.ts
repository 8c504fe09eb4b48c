import type { Latency } from './measure.js';

/** Figures for people: three significant digits, thousands separated. */
export function number(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function perSecond(value: number): string {
  return `${number(value)}/s`;
}

export function milliseconds(value: number): string {
  return value >= 1_000 ? `${number(value / 1_000)} s` : `${number(value)} ms`;
}

export function percentiles({ p50, p99 }: Latency): string {
  return `p50 ${milliseconds(p50)}, p99 ${milliseconds(p99)}`;
}

/** Bytes that were added; what was deleted before can have left more space than was used. */
export function addedBytes(value: number): string {
  return `${value < 0 ? '−' : '+'}${bytes(Math.abs(value))}`;
}

export function bytes(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${number(value / 1e6)} MB`;
  return size >= 1e3 ? `${number(value / 1e3)} KB` : `${Math.round(value)} B`;
}
