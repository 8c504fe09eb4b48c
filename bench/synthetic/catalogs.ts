import { SyntheticFunctions } from './definitions.js';
import { toYaml } from './yaml-text.js';

/** Gives entries of about 2 KB. */
const SCHEMA_BYTES = [50, 700] as const;
/** Placeholder of the generation in every entry. */
const GENERATION = 'GENERATION';
const LIST_START = 'spec:\n  krmFunctions:\n';

export interface SyntheticEntry {
  group: string;
  kind: string;
  /** A list item of `spec.krmFunctions`. */
  text: string;
}

/** An upstream catalog: the same one for the same number, with groups that no other number has. */
export class SyntheticCatalog {
  readonly entries: SyntheticEntry[];
  readonly #head: string;
  readonly #generations: number[];

  constructor(number: number, entries: number) {
    const name = `upstream-${number}`;
    const source = new SyntheticFunctions(10_000 + number, {
      domain: `u${number}.example`,
      schemaBytes: SCHEMA_BYTES,
    });
    this.#head = toYaml({ apiVersion: 'config.kubernetes.io/v1alpha1', kind: 'Catalog', metadata: { name } });
    this.entries = Array.from({ length: entries }, () => {
      const { group, kind, definition } = source.next().at(-1)!;
      const home = `https://${group}/${GENERATION}`;
      const document = toYaml({ spec: { krmFunctions: [{ ...definition, home }] } });
      return { group, kind, text: document.slice(LIST_START.length) };
    });
    this.#generations = this.entries.map(() => 0);
  }

  /** Changes the first `count` entries to new content: the marker. */
  change(entries: number): { marker: string } {
    const next = Math.max(...this.#generations) + 1;
    this.#generations.fill(next, 0, entries);
    return { marker: generationMarker(next) };
  }

  text(): string {
    const items = this.entries.map(({ text }, at) =>
      text.replace(GENERATION, generationMarker(this.#generations[at]!)),
    );
    return `${this.#head}${LIST_START}${items.join('')}`;
  }
}

function generationMarker(generation: number): string {
  return `generation-${generation}.html`;
}
