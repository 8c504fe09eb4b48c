import { StarlarkSet } from '../values/set.js';
import type { Thread } from '../values/thread.js';
import type { Value } from '../values/value.js';

/** Returns the union, intersection, difference or symmetric difference of two sets; `undefined` for other values. */
export function combineSets(
  thread: Thread,
  operator: '|' | '&' | '-' | '^',
  x: Value,
  y: Value,
): StarlarkSet | undefined {
  if (!(x instanceof StarlarkSet) || !(y instanceof StarlarkSet)) return undefined;
  thread.step(x.size + y.size);
  thread.allocate((x.size + y.size) * 48);
  switch (operator) {
    case '|':
      return StarlarkSet.of([...x.items(), ...y.items()], thread);
    case '&':
      return StarlarkSet.of(
        x.items().filter((item) => y.has(item, thread)),
        thread,
      );
    case '-':
      return StarlarkSet.of(
        x.items().filter((item) => !y.has(item, thread)),
        thread,
      );
    case '^':
      return StarlarkSet.of(
        [
          ...x.items().filter((item) => !y.has(item, thread)),
          ...y.items().filter((item) => !x.has(item, thread)),
        ],
        thread,
      );
  }
}
