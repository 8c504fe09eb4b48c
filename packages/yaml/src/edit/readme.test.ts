import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as resources from '../resources.js';
import { editFile } from './edit-file.js';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const examples = [...readme.matchAll(/```ts\n(.*?)```\n\n```text\n(.*?)```/gs)];

it('has three examples', () => expect(examples.length).toBe(3));

it.each(examples.map(([, code, output]) => [code!, output!]))(
  'prints what the README says: %#',
  (code, output) => {
    const printed: string[] = [];
    const script = code.replace(/^import (\{.*\}) from .*$/gm, 'const $1 = exported;');
    new Function('exported', 'console', script.replaceAll('!', ''))(
      { ...resources, editFile },
      {
        log: (text: string) => printed.push(`${text.trimEnd()}\n`),
      },
    );
    expect(printed.join('')).toBe(output);
  },
);
