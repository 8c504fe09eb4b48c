import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../../examples/catalogs/', import.meta.url));

/** A recipe of a public catalog that krmhub brings with it. */
export interface ReadyRecipe {
  /** The name of its catalog. */
  name: string;
  /** One sentence. */
  summary: string;
  text: string;
}

/** Reads the recipes in `examples/catalogs`, by name. The first line of each is a comment with the summary. */
export function readyRecipes(): ReadyRecipe[] {
  return readdirSync(FOLDER)
    .sort()
    .map((file) => {
      const text = readFileSync(FOLDER + file, 'utf8');
      return { name: file.replace(/\.yaml$/, ''), summary: text.split('\n', 1)[0]!.replace(/^# /, ''), text };
    });
}
