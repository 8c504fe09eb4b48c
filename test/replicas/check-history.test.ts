import { describe, expect, it } from 'vitest';
import { checkHistory } from './check-history.js';
import { type CatalogRead, type ChangeOutcome, History, type Operation, type Recorded } from './history.js';

/** `at` is the call and the response; one after the other without it. */
function history(...steps: [Operation, { at?: [number, number]; process?: string }?][]): Recorded[] {
  return steps.map(([operation, { at, process = 'a' } = {}], index) => ({
    ...operation,
    process,
    called: at?.[0] ?? 2 * index,
    returned: at?.[1] ?? 2 * index + 1,
  }));
}

const publish = (digest: string, outcome: ChangeOutcome): Operation => ({
  do: 'publish',
  release: 'Fn@1.0.0',
  digest,
  outcome,
});
const read = (digest?: string, yanked?: boolean): Operation => ({
  do: 'read',
  release: 'Fn@1.0.0',
  ...(digest === undefined ? {} : { digest }),
  ...(yanked === undefined ? {} : { yanked }),
});
const yank = (outcome: 'done' | 'unknown'): Operation => ({ do: 'yank', release: 'Fn@1.0.0', outcome });
const takedown = (outcome: 'done' | 'unknown'): Operation => ({
  do: 'takedown',
  release: 'Fn@1.0.0',
  outcome,
});
const gone: Operation = { do: 'read', release: 'Fn@1.0.0', gone: true };
const push = (digest: string, outcome: 'done' | 'unknown'): Operation => ({
  do: 'push',
  artifact: 'tag',
  digest,
  outcome,
});
const pull = (digest?: string): Operation => ({
  do: 'pull',
  artifact: 'tag',
  ...(digest === undefined ? {} : { digest }),
});
const use = (accepted: boolean): Operation => ({ do: 'use', token: 't', accepted });
const revoke = (outcome: 'done' | 'unknown'): Operation => ({ do: 'revoke', token: 't', outcome });
const newest = (serial: number, digest = `d${serial}`): CatalogRead => ({
  do: 'catalog',
  catalog: 'default',
  serial,
  digest,
  newest: true,
});
const holding = (serial: number): CatalogRead => ({ ...newest(serial), holds: ['Fn@1.0.0'] });
const missing = (serial: number): CatalogRead => ({
  do: 'catalog',
  catalog: 'default',
  serial,
  newest: false,
});
const withdrawn = (serial: number): CatalogRead => ({ ...missing(serial), withdrawn: true });
const collected = (serial: number, version: number): CatalogRead => ({ ...newest(serial), version });
const upstream = (version: number): Operation => ({ do: 'upstream', catalog: 'default', version });
const sync = (version: number): Operation => ({ do: 'sync', catalog: 'default', version });
const apart: Operation = { do: 'apart' };
const b = { process: 'b' };

describe('a history that one process could have given', () => {
  it.each<[string, Recorded[]]>([
    ['nothing', []],
    [
      'a publish that every process has',
      history([read()], [publish('x', 'done')], [read('x')], [read('x'), b]),
    ],
    ['the same publish again', history([publish('x', 'done')], [publish('x', 'same'), b])],
    ['another one, rejected', history([publish('x', 'done')], [publish('y', 'exists'), b], [read('x')])],
    ['a read during a publish that misses it', history([publish('x', 'done'), { at: [0, 9] }], [read()])],
    [
      'a read during a publish that finds it',
      history([publish('x', 'done'), { at: [0, 9] }], [read('x'), { at: [1, 2] }]),
    ],
    ['an unknown publish that did not happen', history([publish('x', 'unknown')], [read()], [read()])],
    ['one that did', history([publish('x', 'unknown')], [read('x')], [read('x'), b])],
    ['one that happens later', history([publish('x', 'unknown')], [read()], [read('x')])],
    [
      'a rejected one after two unknown ones',
      history(
        [publish('x', 'unknown')],
        [publish('y', 'unknown')],
        [publish('x', 'exists')],
        [publish('y', 'same')],
      ),
    ],
    ['a repeated publish after an unknown one', history([publish('x', 'unknown')], [publish('x', 'same')])],
    [
      'an unknown publish beside one that succeeded',
      history([publish('y', 'unknown')], [publish('x', 'done')], [read('x')]),
    ],
    [
      'a yank',
      history([publish('x', 'done')], [read('x', false)], [yank('done')], [read('x', true)], [yank('done')]),
    ],
    [
      'an unknown yank that happens later',
      history([publish('x', 'done')], [yank('unknown')], [read('x', false)], [read('x', true)]),
    ],
    ['a revoked token', history([use(true)], [revoke('done')], [use(false), b])],
    ['a token that an unknown request revoked', history([revoke('unknown')], [use(true)], [use(false), b])],
    [
      'a takedown',
      history([publish('x', 'done')], [read('x')], [takedown('done')], [gone, b], [publish('x', 'gone')]),
    ],
    [
      'a read during a takedown',
      history(
        [publish('x', 'done')],
        [takedown('done'), { at: [2, 9] }],
        [gone, { at: [3, 4] }],
        [read('x'), { at: [3, 5] }],
      ),
    ],
    [
      'an unknown takedown that happens later',
      history([publish('x', 'done')], [takedown('unknown')], [read('x')], [gone], [gone, b]),
    ],
    [
      'an unknown publish that was taken down',
      history([publish('x', 'unknown')], [takedown('done')], [gone]),
    ],
    [
      'a snapshot that a takedown withdraws',
      history([publish('x', 'done')], [holding(1)], [takedown('done')], [withdrawn(1)], [newest(2)]),
    ],
    [
      'a process that was apart, and serves a withdrawn snapshot',
      history(
        [publish('x', 'done')],
        [holding(1)],
        [apart, { at: [4, 20], process: 'b' }],
        [takedown('done'), { at: [5, 6] }],
        [withdrawn(1), { at: [7, 8] }],
        [holding(1), { at: [9, 10], process: 'b' }],
      ),
    ],
    ['a serial that one process did not have yet', history([missing(2)], [newest(2)], [newest(2), b])],
    ['a push', history([pull()], [push('x', 'done')], [pull('x'), b])],
    ['an unknown push that happens later', history([push('x', 'unknown')], [pull()], [pull('x')])],
    [
      'syncs of an upstream that changes',
      history(
        [upstream(1)],
        [sync(1)],
        [collected(1, 1)],
        [upstream(2)],
        [collected(1, 1)],
        [sync(2), b],
        [collected(2, 2)],
      ),
    ],
    [
      'a sync during a change of the upstream',
      history([upstream(1)], [sync(1), { at: [2, 9] }], [upstream(2), { at: [3, 4] }]),
    ],
    [
      'snapshots, some of them late in one process',
      history([newest(1)], [newest(3)], [newest(2), b], [newest(3), b], [newest(3)]),
    ],
    [
      'two reads at once, of which the later one was faster',
      history([newest(1), { at: [0, 9] }], [newest(2), { at: [1, 2] }]),
    ],
  ])('%s', (_name, given) => {
    expect(checkHistory(given)).toEqual([]);
  });
});

describe('a history that it could not have given', () => {
  it.each<[string, Recorded[], string]>([
    ['a lost publish', history([publish('x', 'done')], [read()]), 'later it was not'],
    ['one that another process misses', history([publish('x', 'done')], [read(), b]), 'later it was not'],
    [
      'an unknown publish that was seen and is lost',
      history([publish('x', 'unknown')], [read('x')], [read()]),
      'later it was not',
    ],
    [
      'one that was refused as existing and is missing',
      history([publish('x', 'unknown')], [publish('y', 'exists')], [read()]),
      'later it was not',
    ],
    [
      'two contents of two publishes',
      history([publish('x', 'done')], [publish('y', 'done'), b]),
      'created 2 times',
    ],
    [
      'a release that was created twice',
      history([publish('x', 'done')], [publish('x', 'done'), b]),
      'created 2 times',
    ],
    [
      'two contents of two reads',
      history([publish('x', 'done')], [read('x')], [read('y'), b]),
      'two contents',
    ],
    [
      'the content of a publish that was not the first',
      history([publish('x', 'done')], [publish('y', 'same')]),
      'two contents',
    ],
    ['content from nowhere', history([read('x')]), 'nobody did it'],
    ['content before its publish', history([read('x')], [publish('x', 'done')]), 'before anybody did it'],
    ['a rejection for no reason', history([publish('x', 'exists')]), 'refused'],
    [
      'a rejection of the bytes that are stored',
      history([publish('x', 'done')], [publish('x', 'exists')]),
      'refused',
    ],
    ['a lost yank', history([yank('done')], [{ ...read(undefined, false) }]), 'yanked, and later it was not'],
    ['a yank by nobody', history([read(undefined, true)]), 'nobody did it'],
    ['a token that works again', history([revoke('done')], [use(true), b]), 'later it was not'],
    ['a token that nobody revoked', history([use(true)], [use(false), b]), 'nobody did it'],
    ['a serial with two contents', history([newest(1, 'x')], [newest(1, 'y'), b]), 'two contents'],
    ['an older snapshot than before', history([newest(2)], [newest(1)]), 'goes back'],
    ['a lost snapshot', history([newest(1)], [missing(1), b]), 'later it was not'],
    [
      'a release that is served after its takedown',
      history([publish('x', 'done')], [takedown('done')], [read('x'), b]),
      'taken down, and later it was not',
    ],
    [
      'a release that is published again after its takedown',
      history([publish('x', 'unknown')], [takedown('done')], [publish('x', 'same')]),
      'taken down, and later it was not',
    ],
    [
      'a lost tombstone',
      history([publish('x', 'done')], [takedown('done')], [read()]),
      'published, and later it was not',
    ],
    ['a takedown by nobody', history([publish('x', 'done')], [gone]), 'nobody did it'],
    [
      'a takedown that is undone',
      history([publish('x', 'done')], [takedown('unknown')], [gone], [read('x'), b]),
      'taken down, and later it was not',
    ],
    [
      'a snapshot with a release that was taken down',
      history([publish('x', 'done')], [takedown('done')], [holding(2), b]),
      'after it was taken down',
    ],
    [
      'one that a process serves that was not apart any more',
      history(
        [publish('x', 'done')],
        [apart, { at: [2, 3], process: 'b' }],
        [takedown('done'), { at: [4, 5] }],
        [holding(2), { at: [6, 7], process: 'b' }],
      ),
      'after it was taken down',
    ],
    [
      'a withdrawn snapshot that is there again',
      history([takedown('unknown')], [withdrawn(1)], [newest(1), b]),
      'withdrawn, and later it was not',
    ],
    ['a snapshot that nobody withdrew', history([newest(1)], [withdrawn(1)]), 'nobody did it'],
    [
      'a snapshot that the takedown of another release withdrew',
      history([{ ...newest(1), holds: ['Other@1.0.0'] }], [takedown('unknown')], [withdrawn(1)]),
      'nobody did it',
    ],
    ['a lost artifact', history([push('x', 'done')], [pull(), b]), 'later it was not'],
    ['an artifact from nowhere', history([pull('x')]), 'nobody did it'],
    ['an artifact with other bytes', history([push('x', 'done')], [pull('y')]), 'two contents'],
    [
      'an upstream that goes back',
      history([upstream(1)], [upstream(2)], [collected(1, 2)], [collected(2, 1)]),
      'the upstream goes back',
    ],
    ['a version of nobody', history([upstream(1)], [sync(2)]), 'did not have'],
    ['a version before its time', history([collected(1, 1)], [upstream(1)]), 'did not have'],
    ['a sync that got an old version', history([upstream(1)], [upstream(2)], [sync(1)]), 'missed'],
  ])('%s', (_name, given, text) => {
    const found = checkHistory(given);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(text);
  });
});

it('records the order of calls and responses', async () => {
  const recorded = new History();
  let release!: () => void;
  const slow = recorded.record('a', async () => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return publish('x', 'done');
  });
  await recorded.record('b', async () => read());
  await recorded.record('b', async () => undefined);
  release();
  await slow;
  expect(recorded.operations.map(({ do: name, called, returned }) => [name, called, returned])).toEqual([
    ['read', 1, 2],
    ['publish', 0, 5],
  ]);
  expect(checkHistory(recorded.operations)).toEqual([]);
});

it('checks a history again that has grown', () => {
  const grows = history([publish('x', 'done')], [holding(1)]);
  expect(checkHistory(grows)).toEqual([]);
  grows.push(
    ...history(
      [apart, { at: [4, 20], process: 'b' }],
      [takedown('done'), { at: [5, 6] }],
      [holding(1), { at: [9, 10], process: 'b' }],
    ),
  );
  expect(checkHistory(grows)).toEqual([]);
});
