import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './running.js';

/** A shell block of a document, and the output block right after it. */
export interface Block {
  line: number;
  script: string;
  output: string | undefined;
  /** The word after `sh`: the program that the block needs. Undefined if a registry is enough. */
  needs: string | undefined;
}

/** Every `sh` block; the tests of the programs run `sh podman` and the like. */
export function blocks(markdown: string): Block[] {
  const found: Block[] = [];
  const fences = /^```(\w*)(?: (\w+))?\n([\s\S]*?)^```$/gm;
  let previousEnd = -1;
  for (const match of markdown.matchAll(fences)) {
    const [whole, language, needs, body] = match as unknown as [string, string, string | undefined, string];
    const between = markdown.slice(previousEnd, match.index);
    if (language === 'sh')
      found.push({
        line: markdown.slice(0, match.index).split('\n').length + 1,
        script: body,
        output: undefined,
        needs,
      });
    const last = found.at(-1);
    if (language === 'text' && last !== undefined && last.output === undefined && between.trim() === '')
      last.output = body;
    previousEnd = match.index + whole.length;
  }
  return found;
}

/** Returns the commands that a reader runs before those of a page: the first block of docs/README.md. */
export function preparation(): string {
  return blocks(readFileSync(path.join(root, 'docs/README.md'), 'utf8'))[0]!.script;
}

/** Returns the scripts of a document's blocks with the same need, in order; throws if there is none. */
export function documentBlocks(document: string, needs: string): string[] {
  const found = blocks(readFileSync(path.join(root, document), 'utf8')).filter(
    (block) => block.needs === needs,
  );
  if (found.length === 0) throw new Error(`${document} has no block that needs ${needs}`);
  return found.map(({ script }) => script);
}

/** Matches the output that a page shows: its lines, in that order, where `…` matches anything. */
export function promised(output: string): RegExp {
  const lines = output
    .trimEnd()
    .split('\n')
    .map((line) =>
      line.trim() === '…' ? '[\\s\\S]*?' : `${line.trimEnd().split('…').map(literal).join('.*')}[ \\t]*`,
    );
  return new RegExp(lines.join('\n'));
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
