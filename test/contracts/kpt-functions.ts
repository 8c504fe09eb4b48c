import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import type { SampleEntry } from './sample-upstream.js';

const FOLDER = path.resolve(import.meta.dirname, '../../../shared/data/kpt-metadata/google-2023');

export const hasKptFunctions = existsSync(FOLDER);

/** Real functions as an import gives them: the kind is the name of the function. */
export function kptFunctions(): SampleEntry[] {
  return readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('metadata.yaml'))
    .sort()
    .map((file) => {
      const name = path.basename(path.dirname(file));
      const { description, tags, image } = parse(readFileSync(path.join(FOLDER, file), 'utf8')) as {
        description?: string | null;
        tags?: string[];
        image?: string;
      };
      return {
        group: 'fn.kpt.dev',
        kind: name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase()),
        description: description ?? '',
        publisher: 'kpt',
        tags: tags ?? [],
        runtime: { container: { image: `${image ?? `gcr.io/kpt-fn/${name}`}:v0.1` } },
      };
    });
}
