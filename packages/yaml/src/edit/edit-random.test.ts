import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { JsonValue } from '../json-value.js';
import {
  equalValue,
  expandAliases,
  fromJson,
  type ResourceNode,
  readResources,
  toJson,
  writeDocument,
} from '../resources.js';
import { Random } from '../testing/random.js';
import { type ChangedSpan, RandomChange } from '../testing/random-change.js';
import { RandomYaml } from '../testing/random-yaml.js';
import { editFile } from './edit-file.js';

const FULL = process.env.KRMHUB_TEST_FULL_SIZE !== undefined;
const SEEDS = FULL ? 50_000 : 300;
const SEED = Number(process.env.KRMHUB_TEST_SEED ?? 1);

/** Each comment, with the keys of the field that it belongs to. */
function owners(node: ResourceNode, withFoot: boolean): Map<string, string> {
  const found = new Map<string, string>();
  const add = (one: ResourceNode, path: string): void => {
    for (const text of [one.head, one.line, withFoot ? one.foot : '']) {
      for (const line of text.split('\n')) if (line.trim() !== '') found.set(line, path);
    }
  };
  const visit = (one: ResourceNode, path: string): void => {
    add(one, path);
    if (one.kind === 'map') {
      for (let i = 0; i < one.content.length; i += 2) {
        const below = `${path}/${one.content[i]!.value}`;
        add(one.content[i]!, below);
        visit(one.content[i + 1]!, below);
      }
    } else for (const child of one.content) visit(child, one.kind === 'list' ? `${path}/-` : path);
  };
  visit(node, '');
  return found;
}

/** The first line of `before` outside the spans that is not in `after`, in its order. */
function lostLine(before: string, after: string, spans: readonly ChangedSpan[]): string | undefined {
  const lines = after.split('\n');
  let at = 0;
  let offset = 0;
  for (const line of before.split('\n')) {
    const start = offset;
    offset += line.length + 1;
    if (spans.some((span) => start >= span.start && start <= span.end)) continue;
    const found = lines.indexOf(line, at);
    if (found === -1) return line;
    at = found + 1;
  }
  return undefined;
}

/** Whether an empty line is below a comment, so that it belongs to nothing. */
function standsAlone(comment: string, text: string): boolean {
  const lines = text.split('\n');
  let at = lines.findIndex((line) => line.trim() === comment);
  while (lines[at]?.trim().startsWith('#')) at++;
  return lines[at]?.trim() === '';
}

interface Outcome {
  changes: number;
  failure?: string;
  /** Why the document was written whole. */
  rewritten?: string;
}

function tryChanges(seed: number): Outcome | 'unreadable' {
  const random = new Random(seed);
  const text = new RandomYaml(random).document();
  let before: ReturnType<typeof readResources>[0];
  try {
    before = readResources(text, '')[0]!;
  } catch {
    return 'unreadable';
  }
  const same = editFile({ text, documents: [{ before, after: before.node.clone() }] });
  if (same.text !== text) return { changes: 0, failure: `seed ${seed}: changed by no change\n${text}` };
  let after = before.node.clone();
  const change = new RandomChange(random, text, before.node);
  const changes = 1 + random.below(3);
  for (let i = 0; i < changes; i++) change.change(after.content[0]!);
  if (text.includes('<<') && random.chance(0.5)) {
    // As a program that knows no aliases.
    const expanded = fromJson(
      parse(writeDocument(expandAliases(after.content[0]!)), {
        merge: true,
        logLevel: 'silent',
      }) as JsonValue,
    );
    if (equalValue(expanded, after)) after = expanded;
  }
  const edited = editFile({ text, documents: [{ before, after }] });
  const fail = (problem: string): Outcome => ({
    changes,
    failure: `seed ${seed}: ${problem}\n${text}\n=====\n${JSON.stringify(toJson(after))}\n=====\n${edited.text}`,
  });
  const rewritten = edited.notes.find(({ kind }) => kind === 'rewritten');
  if (rewritten !== undefined) return { changes, rewritten: fail(rewritten.reason!).failure! };
  const again = readResources(edited.text, '')[0]!;
  if (!equalValue(again.node, after)) return fail('another value');
  const second = editFile({ text: edited.text, documents: [{ before: again, after, shown: after }] });
  if (second.text !== edited.text) return fail(`not idempotent: ${second.text}`);
  // A comment behind an anchor belongs to the first field below it, for go-yaml.
  if (text.includes(' &x')) return { changes };
  const old = owners(before.node, true);
  for (const [comment, owner] of owners(again.node, false)) {
    // The comment above the first field of an item is above the item.
    const was = old.get(comment);
    const isOwn = was === owner || (owner.endsWith('/-') && was?.startsWith(owner));
    if (!isOwn && !standsAlone(comment, edited.text)) return fail(`${comment} is beside ${owner}`);
  }
  const line = lostLine(text, edited.text, change.changedSpans());
  return line === undefined ? { changes } : fail(`lost line ${line}`);
}

it(`changes only what ${SEEDS} random changes concern`, () => {
  const failures: string[] = [];
  const rewritten: string[] = [];
  let unreadable = 0;
  let changes = 0;
  for (let seed = SEED; seed < SEED + SEEDS; seed++) {
    const outcome = tryChanges(seed);
    if (outcome === 'unreadable') unreadable++;
    else {
      changes += outcome.changes;
      if (outcome.failure !== undefined) failures.push(outcome.failure);
      if (outcome.rewritten !== undefined) rewritten.push(outcome.rewritten);
    }
  }
  if (process.env.KRMHUB_TEST_VERBOSE !== undefined) {
    console.info({ changes, unreadable, rewritten: rewritten.length, failures: failures.length });
    console.info(failures.slice(0, 12).join('\n##########\n'));
    console.info('REWRITTEN', rewritten.slice(0, 12).join('\n##########\n'));
  }
  expect(failures.slice(0, 1)).toEqual([]);
  expect(rewritten.slice(0, 1)).toEqual([]);
  expect(unreadable).toBeLessThan(SEEDS / 20);
});
