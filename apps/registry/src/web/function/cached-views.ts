import type { BlobBytes, OpenableBlobs } from '@krmhub/catalog';
import {
  type Change,
  compareDefinitions,
  functionUsage,
  type ReleaseHead,
  toYaml,
  type Usage,
  type UsageAddresses,
} from '@krmhub/catalog';
import {
  type ConfigDescription,
  type Digest,
  describeConfig,
  type FunctionDefinition,
  type FunctionVersion,
  type JsonObject,
  sha256,
} from '@krmhub/schema';
import { BytesCache } from '../../http/bytes-cache.js';
import { SERVER_LIMITS } from '../../limits.js';
import { type DeriveDeps, oncePerThread } from '../../workers/derive/derivation.js';
import type { ImageSources, RenderedMarkdown } from '../markdown.js';
import type { ScriptView, StoredScript } from './view-script.js';

/** One API version of a function, for its page. */
export interface VersionView {
  version: FunctionVersion;
  description: ConfigDescription;
  usage: Usage;
}

/** The beginning of a definition. */
export interface DefinitionText {
  text: string;
  lines: number;
  isCut: boolean;
}

/** Maximum number of characters of a definition that a page shows. */
const MAX_SHOWN_TEXT = 64_000;

/** Caches what pages derive from definitions, READMEs, and scripts: it is costly, and depends only on their bytes. */
export class CachedViews {
  readonly #blobs: BlobBytes;
  readonly #artifacts: BlobBytes & OpenableBlobs;
  readonly #cache = new BytesCache<{ value: unknown; byteLength: number }>(SERVER_LIMITS.maxPageCacheBytes);

  constructor({ blobs, artifacts }: DeriveDeps) {
    this.#blobs = blobs;
    this.#artifacts = artifacts;
  }

  /** Returns the view of an API version. `digest` is that of the definition. */
  version(
    digest: Digest,
    definition: FunctionDefinition,
    version: FunctionVersion,
    addresses: UsageAddresses,
  ): VersionView {
    return this.#cached(`version ${digest} ${version.name} ${addresses.catalog}`, () => ({
      version,
      description: describeConfig(definition, version.name),
      usage: functionUsage(definition, version, addresses),
    }));
  }

  /** Returns the changes between two releases; undefined if the definitions are too large to compare for a page. */
  async changes<Release extends Pick<ReleaseHead, 'digest'>>(
    before: Release,
    after: Release,
    read: (release: Release) => Promise<FunctionDefinition>,
  ): Promise<Change[] | undefined> {
    // Equal definitions need no comparison, whatever their size.
    if (before.digest === after.digest) return [];
    const name = `changes ${before.digest} ${after.digest}`;
    const cached = this.#cache.get(name);
    if (cached !== undefined) return (cached.value as { changes?: Change[] }).changes;
    const definitions = [await read(before), await read(after)] as const;
    return this.#cached<{ changes?: Change[] }>(name, () => {
      const bytes = definitions.reduce((sum, one) => sum + JSON.stringify(one).length, 0);
      return bytes > SERVER_LIMITS.maxComparedEntryBytes
        ? {}
        : { changes: compareDefinitions(...definitions) };
    }).changes;
  }

  /** Returns the text of a definition: the exact bytes of a release, or the entry that a catalog serves as YAML. */
  async text(digest: Digest, definition: FunctionDefinition, isEntry: boolean): Promise<DefinitionText> {
    const name = `text ${digest}`;
    const cached = this.#cache.get(name);
    if (cached !== undefined) return cached.value as DefinitionText;
    const bytes = isEntry ? undefined : await this.#blobs.get(digest);
    if (bytes === undefined && !isEntry) throw new Error(`the blob ${digest} is missing`);
    return this.#cached(name, () => {
      const whole =
        bytes === undefined ? toYaml(definition as unknown as JsonObject) : new TextDecoder().decode(bytes);
      const isCut = whole.length > MAX_SHOWN_TEXT;
      const end = whole.lastIndexOf('\n', MAX_SHOWN_TEXT);
      const text = isCut ? whole.slice(0, end < 0 ? MAX_SHOWN_TEXT : end) : whole.trimEnd();
      return { text, lines: text.split('\n').length, isCut };
    });
  }

  async readme(digest: Digest, images: ImageSources = new Map()): Promise<RenderedMarkdown> {
    const name = `readme ${digest} ${sha256(JSON.stringify([...images]))}`;
    const cached = this.#cache.get(name);
    if (cached !== undefined) return cached.value as RenderedMarkdown;
    const bytes = await this.#blobs.get(digest);
    if (bytes === undefined) throw new Error(`the blob ${digest} is missing`);
    // Loads a Markdown parser, which a registry does not need to start.
    const { renderMarkdown } = await import('../markdown.js');
    return this.#cached(name, () => renderMarkdown(new TextDecoder().decode(bytes), images));
  }

  /** Returns the view of a script. Rejects with `unavailable` if it was deleted meanwhile. */
  async script(stored: StoredScript): Promise<ScriptView> {
    const name = `script ${stored.file}`;
    const cached = this.#cache.get(name);
    if (cached !== undefined) return cached.value as ScriptView;
    // Loads a parser, which few functions need.
    const { readShownPart, viewScript } = await import('./view-script.js');
    const part = await readShownPart(this.#artifacts, stored);
    return this.#cached(name, () => viewScript(part));
  }

  #cached<Value>(name: string, make: () => Value): Value {
    const cached = this.#cache.get(name);
    if (cached !== undefined) return cached.value as Value;
    const value = make();
    // UTF-16 in memory, and about as much again for the objects.
    this.#cache.set(name, { value, byteLength: JSON.stringify(value).length * 4 });
    return value;
  }
}

export const cachedViews = oncePerThread((deps) => new CachedViews(deps));
