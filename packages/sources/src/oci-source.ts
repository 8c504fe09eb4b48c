import type { SourceAddress } from '@krmhub/catalog';
import {
  ARTIFACT_MEDIA_TYPES,
  type Credentials,
  type Descriptor,
  ForeignTokenService,
  getArtifactType,
  IDLE_TIMEOUT,
  mainLayer,
  OciClient,
  parseReference,
  type RepositoryReference,
  readLimited,
  readReferrerBundles,
  TooManyRedirects,
} from '@krmhub/oci';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { printable } from '@krmhub/schema/network-reason';
import {
  credentialsFor,
  type FetchedCatalog,
  type FetchRequest,
  type SourceContext,
  type SourceCredentials,
} from './context.js';
import { seconds } from './deadline.js';
import { type FailureOptions, findFailure, SourceFailure, tooLargeFailure } from './failure.js';
import { guardedAgents } from './http/guarded-agents.js';

type Place = RepositoryReference;

/** Fetches a catalog artifact and its bundles (referrers) from an OCI registry. Rejects with SourceFailures only. */
export async function fetchOci(
  { reference: text }: Extract<SourceAddress, { type: 'oci' }>,
  { validators = {}, bundles, onProgress }: FetchRequest,
  context: SourceContext,
): Promise<FetchedCatalog> {
  const { limits } = context;
  let registry = text.split('/')[0]!;
  try {
    const reference = parseReference(text);
    registry = reference.registry;
    const client = createClient(context);
    const { digest, manifest } = await client.manifest(reference);
    const unchanged = digest === validators.manifest;
    let bytes: Uint8Array | undefined;
    if (!unchanged) {
      const type = getArtifactType(manifest);
      if (type !== 'catalog' || manifest.kind !== 'image') {
        throw new SourceFailure(
          'bad-answer',
          `${printable(text)} is not a catalog${describeOther(type, manifest.kind)}`,
          {
            hint: `Use an artifact of the type ${ARTIFACT_MEDIA_TYPES.catalog.artifact}.`,
          },
        );
      }
      const layer = mainLayer(manifest.image, 'catalog');
      bytes = await readBlob(client, reference, layer, limits.maxCatalogBytes, onProgress);
      if (bytes === undefined) throw tooLargeFailure(printable(text), limits.maxCatalogBytes);
    }
    const found = bundles ? await readReferrerBundles(client, reference, digest, limits) : [];
    return {
      ...defined({ bytes }),
      validators: { manifest: digest },
      bundles: found,
      manifest: digest,
    };
  } catch (error) {
    throw context.deadline.failure ?? toSourceFailure({ registry, reference: text }, error, context);
  }
}

export function createClient(context: SourceContext): OciClient {
  const { options, limits, deadline } = context;
  const agents = guardedAgents(context);
  const plainHttp = (registry: string) => isPlain(registry, options.plainHttpRegistries ?? []);
  return new OciClient({
    userAgent: options.userAgent,
    plainHttp,
    credentials: async (registry) => {
      const found = await registryCredentials({ reference: registry }, context);
      if (found !== undefined) context.sent = found;
      return ociCredentials(found);
    },
    onRefused: async () => {
      if (context.sent !== undefined) context.invalid = context.sent;
    },
    // Called for every connection: registry, token service and redirect targets.
    agent: (url) => agents.for(url),
    idleMilliseconds: limits.idleMilliseconds,
    maxRedirects: limits.maxRedirects,
    signal: deadline.signal,
    // The error of the registry is more useful than a timeout.
    onRetry: (error, milliseconds) => {
      if (milliseconds >= deadline.remaining) throw error;
    },
  });
}

/** Returns the credentials for the registry of a reference. */
export function registryCredentials(
  { reference }: { reference: string },
  context: SourceContext,
): Promise<SourceCredentials | undefined> {
  const registry = reference.split('/')[0]!;
  const scheme = isPlain(registry, context.options.plainHttpRegistries ?? []) ? 'http' : 'https';
  const { origin } = new URL(`${scheme}://${registry}`);
  return credentialsFor(origin, { type: 'oci', refused: 401 }, context);
}

function ociCredentials(credentials: SourceCredentials | undefined): Credentials | undefined {
  if (credentials === undefined || 'username' in credentials) return credentials;
  const { token: identityToken, ...others } = credentials;
  return { identityToken, ...others };
}

function isPlain(registry: string, named: readonly string[]): boolean {
  const host = registry.replace(/:\d+$/, '');
  const loopback = host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
  return loopback || named.includes(registry) || named.includes(host);
}

/** Returns undefined if the blob is larger than `maxBytes`. */
function readBlob(
  client: OciClient,
  place: Place,
  layer: Descriptor,
  maxBytes: number,
  onProgress?: (bytes: number) => void,
): Promise<Uint8Array | undefined> {
  if (layer.size > maxBytes) return Promise.resolve(undefined);
  return client.withRetries(async () => {
    const pieces = await client.blob(place, layer);
    return readLimited(onProgress === undefined ? pieces : countBytes(pieces, onProgress), maxBytes);
  });
}

export async function* countBytes(
  pieces: AsyncIterable<Uint8Array>,
  onProgress: (bytes: number) => void,
): AsyncIterable<Uint8Array> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    onProgress(bytes);
    yield piece;
  }
}

/** Converts errors of the OCI client, whose hints are for the command line. */
export function toSourceFailure(
  { registry, reference }: { registry: string; reference: string },
  error: unknown,
  { limits }: SourceContext,
): unknown {
  const known = findFailure(error);
  if (known !== undefined || !(error instanceof KrmhubError)) return known ?? error;
  const failure = (problem: SourceFailure['problem'], hint?: string, message = error.message) => {
    const options: FailureOptions = { cause: error, isRefusal: error.isRefusal };
    return new SourceFailure(problem, message, hint === undefined ? options : { ...options, hint });
  };
  if (error instanceof TooManyRedirects) return failure('too-many-redirects');
  if (error instanceof ForeignTokenService) {
    return failure(
      'unauthorized',
      `If you trust it, add it to tokenServices in the source credentials for ${printable(registry)}. On the command line, use KRMHUB_TOKEN_SERVICES.`,
    );
  }
  const cause = error.cause as { code?: unknown } | undefined;
  if (cause?.code === IDLE_TIMEOUT) {
    const message = `no data from ${printable(registry)} for ${seconds(limits.idleMilliseconds)}`;
    return failure('too-slow', 'Try again later.', message);
  }
  switch (error.code) {
    case 'unauthorized':
    case 'forbidden':
      return failure('unauthorized', `Check the credentials for ${printable(registry)}.`);
    case 'not-found':
    case 'gone':
      return failure(
        'not-found',
        'Check the reference and that the catalog still exists.',
        `${printable(reference)} not found: ${error.message}`,
      );
    case 'too-large':
      return failure('too-large');
    case 'unavailable':
      return failure('unreachable', 'The server is temporarily unavailable. Try again later.');
    case 'unreachable':
      // An unexpected response has no cause, a network error has one.
      return error.cause === undefined
        ? failure('bad-answer')
        : failure('unreachable', 'Check that the registry supports TLS and is reachable from this network.');
    case 'digest-mismatch':
      return failure('bad-answer', error.hint);
    default:
      return failure('bad-answer', 'Check that the reference is a catalog.');
  }
}

function describeOther(type: string | undefined, kind: 'image' | 'index'): string {
  if (type === 'catalog') return ': it is an index of catalogs';
  return type === undefined
    ? `: it is ${kind === 'index' ? 'an index' : 'an artifact'} of another type`
    : `: its type is ${type}`;
}
