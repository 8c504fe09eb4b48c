import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { listPackage } from '@krmhub/functions/fn';
import { KrmhubError } from '@krmhub/schema/error';
import { readTrees } from '@krmhub/schema/resource-yaml';
import { packageFolder } from '../lock/lock-file.js';
import type { SecretHider } from './hide-secrets.js';
import type { Rendering } from './render-package.js';

/** The texts in which Secrets can be that a message quotes: files, outputs, and the input of what failed. */
export async function packageTexts(
  io: WorkingFolder,
  target: string,
  renderings: readonly Rendering[],
): Promise<string[]> {
  const folder = await packageFolder(io, target);
  const names = [...listPackage(folder).keys()].filter((name) => /\.(?:ya?ml|json)$/.test(name));
  const files = await Promise.all(
    names.map((name) => readFile(path.join(folder, name), 'utf8').catch(() => '')),
  );
  const rendered = renderings.flatMap(({ outputs, failedInput = '' }) => [
    ...outputs.map(({ text }) => text),
    failedInput,
  ]);
  return [...files, ...rendered];
}

/** Makes the values of all Secrets in these texts known. A text that cannot be read has none. */
export function hideAll(texts: readonly string[], hider: SecretHider): void {
  for (const text of new Set(texts)) {
    if (!text.includes('Secret')) continue;
    try {
      for (const tree of readTrees(text, 'text')) hider.hide(tree);
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
    }
  }
}
