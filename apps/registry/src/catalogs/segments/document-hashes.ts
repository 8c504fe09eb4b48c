import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type CatalogFrame, type CatalogHeader, catalogFrame, type DocumentFacts } from '@krmhub/catalog';
import { type Digest, SNAPSHOT_RENDITIONS, type SnapshotRendition } from '@krmhub/schema';

/** Bytes that are hashed in one step: a call for each entry would take longer than the hashing. */
const STEP_BYTES = 262_144;

type Texts = Record<'yaml' | 'json', Uint8Array>;

interface State extends DocumentFacts {
  rendition: SnapshotRendition;
  frame: CatalogFrame;
  hash: Hash;
}

export interface HashedDocuments {
  functions: number;
  digests: Record<SnapshotRendition, Digest>;
  documents: Record<SnapshotRendition, DocumentFacts>;
}

/** Hashes the documents of a catalog from its entries, which are added in its order. */
export class DocumentHashes {
  readonly #states: State[];
  readonly #pending: { [Syntax in keyof Texts]: Uint8Array[] } = { yaml: [], json: [] };
  #pendingBytes = 0;
  #functions: number;

  private constructor(states: State[], functions: number) {
    this.#states = states;
    this.#functions = functions;
  }

  static of(header: CatalogHeader): DocumentHashes {
    const states = SNAPSHOT_RENDITIONS.map((rendition) => ({
      rendition,
      frame: catalogFrame(rendition, header),
      hash: createHash('sha256'),
      crc32: 0,
      bytes: 0,
    }));
    return new DocumentHashes(states, 0);
  }

  /** Returns an independent copy, to continue from here with other entries. */
  copy(): DocumentHashes {
    this.#flush();
    return new DocumentHashes(
      this.#states.map((state) => ({ ...state, hash: state.hash.copy() })),
      this.#functions,
    );
  }

  add({ yaml, json }: Texts): void {
    if (this.#functions === 0) {
      for (const state of this.#states) update(state, Buffer.from(state.frame.head));
    } else {
      // The frames of both documents of a syntax have the same text here.
      for (const { rendition, frame } of this.#states) {
        if (frame.between === '' || rendition.startsWith('krm')) continue;
        this.#pending[syntaxOf(rendition)].push(Buffer.from(frame.between));
      }
    }
    this.#functions += 1;
    this.#pending.yaml.push(yaml);
    this.#pending.json.push(json);
    this.#pendingBytes += yaml.byteLength + json.byteLength;
    if (this.#pendingBytes >= STEP_BYTES) this.#flush();
  }

  /** Call it once, after the last entry. */
  end(): HashedDocuments {
    this.#flush();
    const ended = this.#states.map((state) => {
      update(state, Buffer.from(this.#functions === 0 ? state.frame.empty : state.frame.end));
      const digest: Digest = `sha256:${state.hash.digest('hex')}`;
      return { rendition: state.rendition, digest, facts: { bytes: state.bytes, crc32: state.crc32 } };
    });
    const byRendition = <Value>(value: (one: (typeof ended)[number]) => Value) =>
      Object.fromEntries(ended.map((one) => [one.rendition, value(one)])) as Record<SnapshotRendition, Value>;
    return {
      functions: this.#functions,
      digests: byRendition(({ digest }) => digest),
      documents: byRendition(({ facts }) => facts),
    };
  }

  #flush(): void {
    for (const syntax of ['yaml', 'json'] as const) {
      const bytes = Buffer.concat(this.#pending[syntax]);
      this.#pending[syntax] = [];
      for (const state of this.#states) if (syntaxOf(state.rendition) === syntax) update(state, bytes);
    }
    this.#pendingBytes = 0;
  }
}

function update(state: State, bytes: Uint8Array): void {
  if (bytes.byteLength === 0) return;
  state.hash.update(bytes);
  state.crc32 = crc32(bytes, state.crc32);
  state.bytes += bytes.byteLength;
}

/** Returns the syntax of a rendition. */
export function syntaxOf(rendition: SnapshotRendition): 'yaml' | 'json' {
  return rendition.endsWith('.yaml') ? 'yaml' : 'json';
}
