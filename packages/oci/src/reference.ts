import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';
import { isOciDigest, type OciDigest } from './digest.js';

/** A repository of a registry. */
export interface RepositoryReference {
  /** Host and port. */
  registry: string;
  repository: string;
}

/** An OCI reference: `HOST[:PORT]/REPOSITORY[:TAG][@DIGEST]`, with a tag, a digest or both. */
export interface Reference extends RepositoryReference {
  tag?: string;
  digest?: OciDigest;
}

/** Syntax of names and tags: distribution-spec, "Pulling manifests". */
const REPOSITORY = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/;
const HOST = /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::\d{1,5})?$/;
/** Limit of many registries for host and repository together. */
const MAX_NAME_LENGTH = 255;

const HINT =
  'Use HOST/REPOSITORY:TAG, for example registry.example.com/team/catalog:v1, or HOST/REPOSITORY@sha256:….';
const SCHEME = 'oci://';

/** Parses a reference with or without `oci://`. Throws `usage`. */
export function parseReference(text: string): Reference {
  const wrong = (why: string, hint = HINT) =>
    new KrmhubError('usage', `"${printable(text)}" is not a valid OCI reference: ${why}`, { hint });
  const bare = text.startsWith(SCHEME) ? text.slice(SCHEME.length) : text;
  const slash = bare.indexOf('/');
  const registry = bare.slice(0, Math.max(slash, 0));
  if (/^https?:$/.test(registry)) throw wrong('it starts with http: or https:', `Remove the scheme. ${HINT}`);
  if (slash < 0 || !isHost(registry)) {
    throw wrong(
      'it does not start with a registry host',
      `Add the host, for example registry.example.com/…. ${HINT}`,
    );
  }
  const [name = '', digest, ...more] = bare.slice(slash + 1).split('@');
  const colon = name.indexOf(':');
  const repository = colon < 0 ? name : name.slice(0, colon);
  const tag = colon < 0 ? undefined : name.slice(colon + 1);
  if (!REPOSITORY.test(repository)) {
    const lower = /[A-Z]/.test(repository) ? ': it must be lower case' : '';
    throw wrong(`"${printable(repository)}" is not a valid repository name${lower}`);
  }
  if (registry.length + repository.length + 1 > MAX_NAME_LENGTH) {
    throw wrong(`the host and repository have more than ${MAX_NAME_LENGTH} characters`);
  }
  if (tag !== undefined && !TAG.test(tag)) throw wrong(`"${printable(tag)}" is not a valid tag`);
  if (more.length > 0 || (digest !== undefined && !isOciDigest(digest))) {
    throw wrong(`"${printable([digest, ...more].join('@'))}" is not a sha256:… or sha512:… digest`);
  }
  if (tag === undefined && digest === undefined) throw wrong('it has neither a tag nor a digest');
  return {
    registry,
    repository,
    ...defined({ tag, digest: digest === undefined ? undefined : (digest as OciDigest) }),
  };
}

/** Reports whether the text is a valid repository name. */
export function isRepository(text: string): boolean {
  return text.length <= MAX_NAME_LENGTH && REPOSITORY.test(text);
}

export function isTag(text: string): boolean {
  return TAG.test(text);
}

export function formatReference({ registry, repository, tag, digest }: Reference): string {
  return `${registry}/${repository}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`;
}

/** Returns the digest, or else the tag: the `<reference>` in URLs of distribution-spec. */
export function manifestReference({ tag, digest }: Reference): string {
  const name = digest ?? tag;
  if (name === undefined) throw new RangeError('the reference has neither a tag nor a digest');
  return name;
}

/** A host has a dot, a port, or is localhost. Otherwise the text is the first part of a repository name. */
function isHost(text: string): boolean {
  return HOST.test(text) && (/[.:]/.test(text) || text === 'localhost');
}
