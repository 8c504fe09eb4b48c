/** A program in Starlark, and the same in JavaScript. Both return the same number. */
export interface BenchProgram {
  name: string;
  /** Defines `main`. */
  starlark: string;
  javascript: () => number;
}

function fibonacci(n: number): number {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

const ITEMS = 100_000;
const LOOPS = 5_000_000;

export const PROGRAMS: readonly BenchProgram[] = [
  {
    name: 'fib(27)',
    starlark: `
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)
def main():
    return fib(27)
`,
    javascript: () => fibonacci(27),
  },
  {
    name: `a loop of ${LOOPS}`,
    starlark: `
def main():
    total = 0
    for i in range(${LOOPS}):
        total += i % 7
    return total
`,
    javascript: () => {
      let total = 0;
      for (let i = 0; i < LOOPS; i++) total += i % 7;
      return total;
    },
  },
  {
    name: `sort ${ITEMS} strings`,
    starlark: `
def main():
    items = ["item" + str(i * 7919 % 100003) for i in range(${ITEMS})]
    return len(sorted(items, key = lambda item: item, reverse = True)[0])
`,
    javascript: () => {
      const items = Array.from({ length: ITEMS }, (_, i) => `item${(i * 7919) % 100003}`);
      return items.sort((x, y) => (x < y ? 1 : x > y ? -1 : 0))[0]!.length;
    },
  },
  {
    name: `a dict of ${ITEMS}`,
    starlark: `
def main():
    entries = {}
    for i in range(${ITEMS}):
        entries["key" + str(i)] = i
    total = 0
    for key in entries:
        total += entries[key]
    return total
`,
    javascript: () => {
      const entries = new Map<string, number>();
      for (let i = 0; i < ITEMS; i++) entries.set(`key${i}`, i);
      let total = 0;
      for (const key of entries.keys()) total += entries.get(key)!;
      return total;
    },
  },
  {
    name: 'a string of 20000 parts',
    starlark: `
def main():
    text = ""
    for i in range(20000):
        text += "%d," % i
    return len("-".join(text.split(",")))
`,
    javascript: () => {
      let text = '';
      for (let i = 0; i < 20_000; i++) text += `${i},`;
      return text.split(',').join('-').length;
    },
  },
  {
    name: `a comprehension over ${ITEMS}`,
    starlark: `
def main():
    return len([x * 2 for x in range(${ITEMS}) if x % 3])
`,
    javascript: () =>
      Array.from({ length: ITEMS }, (_, i) => i)
        .filter((x) => x % 3 !== 0)
        .map((x) => x * 2).length,
  },
];
