import { EVENT_ID, type Event, getScalarValue, SCALAR_STYLE } from 'js-yaml';
import type { Path, Range, Target } from '../diagnostics/diagnostic.js';
import type { SourceText } from './source.js';

/**
 * Returns the range of the scalar at a path, from the events of a document without tags, anchors, and aliases.
 * Undefined for a collection, for a scalar of several lines, and for a path that leads to nothing.
 */
export function locateScalar(
  events: readonly Event[],
  source: SourceText,
  path: Path,
  target: Target,
): Range | undefined {
  // The first event is the document.
  let at = 1;
  let key: number | undefined;
  for (const segment of path) {
    const { type } = events[at]!;
    key = undefined;
    let child: number | undefined;
    if (type === EVENT_ID.MAPPING && typeof segment === 'string') {
      key = keyOf(events, at, source.text, segment);
      child = key === undefined ? undefined : key + 1;
    } else if (type === EVENT_ID.SEQUENCE && typeof segment === 'number') child = itemOf(events, at, segment);
    if (child === undefined) return undefined;
    at = child;
  }
  const event = events[target === 'key' && key !== undefined ? key : at]!;
  if (event.type !== EVENT_ID.SCALAR || event.valueStart === -1 || event.style > SCALAR_STYLE.DOUBLE_QUOTED)
    return undefined;
  if (source.text.slice(event.valueStart, event.valueEnd).includes('\n')) return undefined;
  const quote = event.style === SCALAR_STYLE.PLAIN ? 0 : 1;
  return source.range(event.valueStart - quote, event.valueEnd + quote);
}

/** Returns the index of a key of the mapping that begins at an index. */
function keyOf(events: readonly Event[], mapping: number, text: string, name: string): number | undefined {
  for (let at = mapping + 1; events[at]!.type !== EVENT_ID.POP; at = after(events, at + 1)) {
    const event = events[at]!;
    if (event.type !== EVENT_ID.SCALAR) return undefined;
    if (getScalarValue(text, event) === name) return at;
  }
  return undefined;
}

function itemOf(events: readonly Event[], sequence: number, index: number): number | undefined {
  let at = sequence + 1;
  for (let left = index; events[at]!.type !== EVENT_ID.POP; left -= 1) {
    if (left === 0) return at;
    at = after(events, at);
  }
  return undefined;
}

/** Returns the index after the node that begins at an index. */
function after(events: readonly Event[], node: number): number {
  let at = node;
  let open = 0;
  do {
    const { type } = events[at]!;
    if (type === EVENT_ID.POP) open -= 1;
    else if (type !== EVENT_ID.SCALAR) open += 1;
    at += 1;
  } while (open > 0);
  return at;
}
