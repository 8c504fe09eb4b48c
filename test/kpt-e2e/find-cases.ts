import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { type CaseConfig, EXPECTED, readConfig } from './config.js';

export interface Case {
  /** Path below the folder that was named, for example `fn-eval/simple-function`. */
  name: string;
  /** Absolute. */
  folder: string;
  config: CaseConfig;
}

/** Returns the cases in a folder, itself included, by name: each folder with a folder `.expected` is one. */
export function findCases(folder: string): Case[] {
  const root = path.resolve(folder);
  const cases: Case[] = [];
  const visit = (at: string) => {
    const names = readdirSync(at).sort();
    if (names.includes(EXPECTED)) {
      cases.push({ name: nameOf(root, at), folder: at, config: readConfig(at) });
    }
    for (const name of names) {
      const inner = path.join(at, name);
      if (name !== EXPECTED && name !== '.git' && isFolder(inner)) visit(inner);
    }
  };
  visit(root);
  return cases;
}

/** From the group of kpt on (`fn-eval/…`), wherever the folder that was named begins. */
function nameOf(root: string, at: string): string {
  const parts = at.split(path.sep);
  const group = parts.findIndex((part) => /^fn-(?:eval|render|source|sink)$/.test(part));
  return group === -1 ? path.relative(root, at) || path.basename(at) : parts.slice(group).join('/');
}

function isFolder(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
