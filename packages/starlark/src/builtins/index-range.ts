import { EvaluationError } from '../values/evaluation-error.js';
import type { Value } from '../values/value.js';
import { toInt32 } from './arguments.js';

/**
 * Returns start and end of a part of a sequence, as methods take them: None is the default, negative indexes count from
 * the end, and those out of range mean the nearest end.
 */
export function indexRange(
  start: Value | undefined,
  end: Value | undefined,
  length: number,
): [start: number, end: number] {
  return [indexOr(start, length, 0, 'start'), indexOr(end, length, length, 'end')];
}

function indexOr(value: Value | undefined, length: number, fallback: number, which: string): number {
  if (value === undefined || value === null) return fallback;
  let index: number;
  try {
    index = toInt32(value);
  } catch (error) {
    throw error instanceof EvaluationError
      ? new EvaluationError(`invalid ${which} index: ${error.message}`)
      : error;
  }
  return Math.min(Math.max(index < 0 ? index + length : index, 0), length);
}
