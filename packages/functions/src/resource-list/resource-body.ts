import type { JsonValue } from '@krmhub/schema/definition';
import {
  documentRoot,
  field,
  type ResourceNode,
  readDocument,
  type SequenceIndent,
  toJson,
  writeDocument,
} from '@krmhub/schema/resource-yaml';
import { BARE_LIST_KEY } from './annotations.js';
import { type AnnotationsPlace, insertAnnotations, insertOwnAnnotations } from './annotations-place.js';
import type { ResourceIdentity } from './identity.js';
import { hasRootComments, type KeptComments, keepComments, restoreComments } from './kept-comments.js';

/** `needed`: without quotes where the text is a string without them. kpt itself writes single quotes. */
export type PlaceQuotes = 'single' | 'double' | 'needed';

/** How the annotations of the orchestrator are written in a ResourceList, as far as a function changed it. */
export type PlaceStyle = Partial<Pick<ResourceBody, 'annotationsPlace' | 'annotationsBefore' | 'quotes'>>;

/**
 * The content of a resource. It keeps the text and drops the model, which takes some twenty times the memory: most
 * resources are never changed, and are not parsed again. The model of a resource with comments is kept, because the
 * text does not tell to which node they belong; in large packages, the comments are kept instead.
 */
export class ResourceBody {
  readonly identity: ResourceIdentity;
  readonly seqIndent: SequenceIndent;
  /**
   * Where the annotations of the orchestrator are among the fields of `metadata`, if it has no others; undefined: last.
   */
  readonly annotationsPlace: AnnotationsPlace | undefined;
  /** How many annotations of the resource are before those of the orchestrator, if not all. */
  readonly annotationsBefore: number | undefined;
  /** How the last function wrote the annotations of the orchestrator, which keep that. */
  readonly quotes: PlaceQuotes;
  /** A document that is a list, which is wrapped for functions. */
  readonly #bare: ResourceNode | undefined;
  #node: ResourceNode | undefined;
  #compact: string | undefined;
  #comments: KeptComments | undefined;

  /** `node` is without the annotations of the orchestrator, and belongs to the body from now on. */
  constructor(
    node: ResourceNode,
    identity: ResourceIdentity,
    seqIndent: SequenceIndent,
    { annotationsPlace, annotationsBefore, quotes = 'single' }: PlaceStyle = {},
  ) {
    this.#node = node;
    this.#bare = identity.kind === '' ? field(node, BARE_LIST_KEY) : undefined;
    this.identity = identity;
    this.seqIndent = seqIndent;
    this.annotationsPlace = annotationsPlace;
    this.annotationsBefore = annotationsBefore;
    this.quotes = quotes;
  }

  /** Returns the document as kyaml writes it to a file. */
  text(): string {
    if (this.seqIndent !== 'wide' && this.#bare === undefined) return this.compactText();
    return writeDocument(this.document(), { seqIndent: this.seqIndent });
  }

  /** Returns the document as in a ResourceList, where kyaml does not indent lists more than their key. */
  compactText(): string {
    if (this.#compact === undefined) {
      this.#compact = writeDocument(this.node());
      if (this.#bare === undefined && !this.#compact.includes('#')) this.#node = undefined;
    }
    return this.#compact;
  }

  /** Returns the model of the document, which can be a list. It must not be changed. */
  document(): ResourceNode {
    return this.#bare ?? this.node();
  }

  node(): ResourceNode {
    if (this.#node !== undefined) return this.#node;
    const node = readDocument(this.#compact ?? '', this.identity.name);
    if (node === undefined) throw new Error('a resource that was written cannot be read');
    return this.#comments === undefined ? node : restoreComments(node, this.#comments);
  }

  /** Whether the document or its root has comments of its own. */
  get hasRootComments(): boolean {
    if (this.#node === undefined) return this.#comments !== undefined && hasRootComments(this.#comments);
    const nodes = [this.#node, documentRoot(this.#node)];
    return nodes.some(({ head, line, foot }) => head !== '' || line !== '' || foot !== '');
  }

  /** Calls `use` with the model, which has annotations where functions see those of the orchestrator. */
  withAnnotations(use: (node: ResourceNode) => void): void {
    const node = this.node();
    const restore =
      this.annotationsBefore === undefined
        ? insertAnnotations(node, this.annotationsPlace)
        : insertOwnAnnotations(node, this.annotationsBefore);
    try {
      use(node);
    } finally {
      restore?.();
    }
  }

  value(): JsonValue {
    return toJson(this.node());
  }

  /** Drops the model, and parses the text again when it is needed. */
  dropModel(): void {
    if (this.#bare !== undefined || this.#node === undefined) return;
    if (this.compactText().includes('#')) this.#comments = keepComments(this.#node);
    this.#node = undefined;
  }
}
