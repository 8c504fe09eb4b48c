import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './running.js';

/** A shell block of a document, and the output that stands right after it. */
export interface Block {
  line: number;
  script: string;
  output: string | undefined;
  /** The word after `sh`: what must be there to run it. Undefined where a registry is enough. */
  needs: string | undefined;
}

/** Every `sh` block; `sh podman` and the like are run by the tests that have what they need. */
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

/** The scripts of a document's blocks that need the same thing, in their order; there is one at least. */
export function documentBlocks(document: string, needs: string): string[] {
  const found = blocks(readFileSync(path.join(root, document), 'utf8')).filter(
    (block) => block.needs === needs,
  );
  if (found.length === 0) throw new Error(`${document} has no block that needs ${needs}`);
  return found.map(({ script }) => script);
}
