import { createHmac, randomBytes } from 'node:crypto';
import {
  documentRoot,
  field,
  fieldAt,
  fieldNames,
  type ResourceNode,
  STYLE,
  scalarText,
  textNode,
} from '@krmhub/schema/resource-yaml';

/** A text that contains a Secret, such as the annotation of `kubectl apply`: also inside of another text. */
const EMBEDDED = /\bkind[\\"'\s]*:[\\"'\s]*Secret(?:List|Generator)?\b/i;
/** Fields of a Secret that contain no value of it. */
const PUBLIC_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'type', 'immutable']);
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
/** What kustomize appends to the name of a generated Secret: a hash of its content, from which one can guess that. */
const NAME_SUFFIX = /-([bcdfghkmt2456789]{10})$/;
/** Characters of a hash. */
const HASH_LENGTH = 12;
/** Characters of a value that is also hidden in messages, and in other resources. */
const MIN_IN_MESSAGE = 4;
const MIN_IN_RESOURCE = 8;
/** A shorter one that is only letters could be any word. */
const MIN_WORD = 16;

/**
 * Hides values of Secrets: each is replaced by a hash, with a key that is dropped with this object, so that equal values
 * stay equal, and short ones cannot be guessed from the hash.
 */
export class SecretHider {
  readonly #key = randomBytes(32);
  /** Values that were hidden, with their hashes, by how they begin. */
  readonly #hidden = new Map<string, Map<string, string>>();

  /** Hides values in a document, which is changed. Reports whether it has any. */
  hide(document: ResourceNode): boolean {
    const root = documentRoot(document);
    if (isSecret(root)) clearComments(document);
    return this.#visit(root);
  }

  /** Hides what is hidden elsewhere in a text of a resource that is no Secret, if it is not a common word. */
  inResource(text: string): string {
    return this.#replace(text, isUncommon);
  }

  /** The same in each value of a resource, which is changed: a value can be quoted or folded in its text. */
  inValues(node: ResourceNode): boolean {
    const isHidden = node.content.map((child) => this.inValues(child)).includes(true);
    const value = node.kind === 'scalar' ? this.inResource(node.value) : node.value;
    if (value === node.value) return isHidden;
    Object.assign(node, { tag: '!!str', value });
    return true;
  }

  /** Hides what is hidden elsewhere in a message. */
  inMessage(text: string): string {
    return this.#replace(text, (value) => value.length >= MIN_IN_MESSAGE);
  }

  /** Hides a value, also in messages. */
  value(text: string): string {
    const decoded = decodeBase64(text);
    const marker = this.#marker(decoded ?? text);
    for (const one of [text, ...(decoded === undefined ? [] : [decoded])]) {
      const known = [one, Buffer.from(one).toString('base64'), ...writtenForms(one)];
      const lines = one.split('\n').filter((line) => line.length >= MIN_WORD && !line.startsWith('-----'));
      for (const each of [...known, ...lines]) this.#remember(each.trim(), marker);
    }
    return marker;
  }

  #remember(value: string, marker: string): void {
    if (value.length < MIN_IN_MESSAGE) return;
    const start = value.slice(0, MIN_IN_MESSAGE);
    const known = this.#hidden.get(start) ?? new Map<string, string>();
    this.#hidden.set(start, known.set(value, marker));
  }

  #marker(value: string): string {
    const hash = createHmac('sha256', this.#key).update(value).digest('hex').slice(0, HASH_LENGTH);
    return `(secret ${hash})`;
  }

  /** Values can contain each other and overlap: all of it is replaced, in one pass whatever their number. */
  #replace(text: string, isReplaced: (value: string) => boolean): string {
    let [result, copied, end, marker] = ['', 0, 0, ''];
    for (let at = 0; at < text.length; at++) {
      if (at === end && marker !== '') [result, copied, marker] = [result + marker, end, ''];
      const known = this.#hidden.get(text.slice(at, at + MIN_IN_MESSAGE)) ?? [];
      for (const [value, its] of known) {
        if (at + value.length <= end || !text.startsWith(value, at) || !isReplaced(value)) continue;
        if (marker === '') result += text.slice(copied, at);
        [end, marker] = [at + value.length, its];
      }
    }
    return result + (marker === '' ? text.slice(copied) : marker + text.slice(end));
  }

  #visit(node: ResourceNode): boolean {
    const { kind, content } = node;
    if (kind === 'scalar') return this.#visitText(node);
    if (kind !== 'map') return content.map((one) => this.#visit(one)).includes(true);
    let isHidden = false;
    const type = kindOf(node);
    if (type === 'Secret') isHidden = this.#hideSecret(node);
    if (type === 'SecretList') {
      for (const one of field(node, 'items')?.content ?? []) isHidden = this.#hideSecret(one) || isHidden;
    }
    // Of kustomize: generators, and patches of Secrets.
    const generators = type === 'SecretGenerator' ? [node] : (field(node, 'secretGenerator')?.content ?? []);
    for (const one of generators) isHidden = this.#hideField(one, 'literals') || isHidden;
    // The kind of a target is a regular expression.
    if (/Secret/.test(scalarText(fieldAt(node, ['target', 'kind'])) ?? '')) {
      isHidden = this.#hideField(node, 'patch') || isHidden;
    }
    for (const child of content) isHidden = this.#visit(child) || isHidden;
    return isHidden;
  }

  #visitText(node: ResourceNode): boolean {
    if (!EMBEDDED.test(node.value)) return false;
    this.#hideNode(node);
    return true;
  }

  #hideSecret(secret: ResourceNode): boolean {
    clearComments(secret);
    const suffix = NAME_SUFFIX.exec(scalarText(fieldAt(secret, ['metadata', 'name'])) ?? '')?.[1];
    if (suffix !== undefined) this.#remember(suffix, this.#marker(suffix));
    const annotations = fieldAt(secret, ['metadata', 'annotations']);
    if (annotations !== undefined) this.#hideField(annotations, LAST_APPLIED);
    // Also what a Secret does not have, such as `binaryData`, and what it merges with `<<`.
    for (const name of fieldNames(secret)) if (!PUBLIC_FIELDS.has(name)) this.#hideField(secret, name);
    // Also of one without values: comments are gone.
    return true;
  }

  /** Hides all values at and below a field. */
  #hideField(map: ResourceNode, name: string): boolean {
    const found = field(map, name);
    if (found === undefined) return false;
    this.#hideBelow(found);
    return true;
  }

  #hideBelow(node: ResourceNode): void {
    clearComments(node);
    if (node.target !== undefined) this.#hideBelow(node.target);
    if (node.kind === 'scalar') this.#hideNode(node);
    for (const [at, child] of node.content.entries()) {
      if (node.kind !== 'map' || at % 2 === 1) this.#hideBelow(child);
    }
  }

  #hideNode(node: ResourceNode): void {
    if (node.value === '' || node.tag === '!!null') return;
    const { tag, style, value } = textNode(this.value(node.value), STYLE.doubleQuoted);
    Object.assign(node, { tag, style, value });
  }
}

function kindOf(node: ResourceNode): string | undefined {
  const found = field(node, 'kind');
  return scalarText(found?.target ?? found);
}

function isSecret(node: ResourceNode): boolean {
  return kindOf(node) === 'Secret';
}

/** A value as it is in a text in JSON, or in a URL. */
function writtenForms(value: string): string[] {
  return [JSON.stringify(value).slice(1, -1), encodeURIComponent(Buffer.from(value).toString())];
}

function isUncommon(value: string): boolean {
  if (value.length < MIN_IN_RESOURCE) return false;
  return value.length >= MIN_WORD || !/^(?:[a-z-]+|[A-Z_-]+|\d+)$/.test(value);
}

function clearComments(node: ResourceNode): void {
  Object.assign(node, { head: '', line: '', foot: '' });
  for (const child of node.content) clearComments(child);
}

/** The text of `data`, if it is one; undefined for what is not Base64 of UTF-8. */
function decodeBase64(text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.toString('base64') !== text.replace(/\s/g, '')) return undefined;
  const decoded = bytes.toString('utf8');
  return Buffer.from(decoded).equals(bytes) ? decoded : undefined;
}
