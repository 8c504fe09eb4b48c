import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { arch, platform as systemOf } from 'node:os';
import path from 'node:path';
import { diskError } from '@krmhub/consume/files/read-file';
import { writeChunksAtomically } from '@krmhub/consume/files/write-file';
import { repositoryUrl, verifyPinnedArtifact } from '@krmhub/consume/trust/pinned-artifact';
import { NOT_PINNED, requireNoLimits } from '@krmhub/consume/trust/require-snapshot';
import type { TrustStore } from '@krmhub/consume/trust/trust-file';
import {
  ARTIFACT_MEDIA_TYPES,
  type ArtifactType,
  type Descriptor,
  formatReference,
  getArtifactType,
  type ImageManifest,
  mainLayer,
  type OciClient,
  type OciDigest,
  type Platform,
  parseReference,
  type Reference,
  type StoredManifest,
  TITLE,
} from '@krmhub/oci';
import type { Digest } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { sizeText } from '../io/size-text.js';
import { connectOci } from '../registry/connect-oci.js';
import { consumePorts } from '../registry/consume-ports.js';
import { type ArtifactOptions, resolveArtifact } from '../registry/release-artifact.js';
import {
  type JudgedArtifact,
  judgeArtifact,
  loadTrust,
  type PullVerification,
  requireVerdict,
} from '../signatures/trust/judge-artifact.js';
import type { OpenArtifact } from '../signatures/trust/read-subject.js';
import { isPlainFileName } from './artifact-source.js';

export interface PullOptions extends ArtifactOptions {
  out: string;
  platform?: Platform;
  overwrite?: boolean;
  policy?: string;
  requireTrust?: boolean;
  trustedRoot?: string;
  output: OutputFormat;
}

/** The result of a pull, as JSON output has it. */
interface Pulled {
  reference: string;
  /** Digest that the reference names, and digest of the manifest for the platform. */
  digest: OciDigest;
  manifest: OciDigest;
  type?: ArtifactType;
  verification: PullVerification;
  /** Titles of files that were not written, because the signature covers only the definition. */
  leftOut?: string[];
  files: {
    path: string;
    mediaType: string;
    digest: OciDigest;
    size: number;
    outcome: 'written' | 'unchanged';
  }[];
}

/** File names for layers without a title. */
const DEFAULT_TITLES: Record<ArtifactType, string> = {
  catalog: 'catalog.yaml',
  definition: 'definition.yaml',
  starlark: 'function.star',
  exec: 'function',
};
/** OCI names by the names of Node. */
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', ia32: '386' };
const SYSTEMS: Record<string, string> = { win32: 'windows' };

/**
 * Pulls the files of an artifact into a folder. Each file is written atomically after its digest is verified. A
 * required signature is verified before the first file is written.
 */
export async function pullArtifact(io: Io, text: string, given: PullOptions): Promise<void> {
  const { name: asked, options } = await resolveArtifact(io, text, given);
  const reference = parseReference(asked);
  const trust = await loadTrust(io, options);
  const progress = new Progress(io);
  const client = connectOci(io, progress, options);
  const named = await client.manifest(reference);
  const { stored, image, type } = await resolveImage(client, reference, named, options.platform);
  const name = formatReference(reference);
  const all = artifactFiles(image, type, name);
  const artifact = { reference, named, stored, image, files: all.map(({ layer }) => layer) };
  const { judged, verification } = await judgePulled(
    io,
    client,
    { ...artifact, type },
    trust,
    options,
  ).finally(() => progress.clear());
  const { files, leftOut } = signedFiles(all, judged);
  const folder = path.resolve(io.cwd, options.out);
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw diskError(error, `cannot create the folder ${options.out}`);
  });
  const pulled: Pulled['files'] = [];
  const total = files.reduce((sum, { layer }) => sum + layer.size, 0);
  let received = 0;
  try {
    for (const { title, layer } of files) {
      const file = path.join(folder, title);
      let own = 0;
      const outcome = await client.withRetries(() =>
        writeChunksAtomically(
          file,
          {
            same: () => hasDigest(file, layer.digest),
            chunks: async function* () {
              received -= own;
              own = 0;
              for await (const chunk of await client.blob(reference, layer)) {
                own += chunk.byteLength;
                received += chunk.byteLength;
                await progress.tick(() => `pulling ${sizeText(received)} of ${sizeText(total)}`);
                yield chunk;
              }
            },
          },
          {
            overwrite: options.overwrite === true,
            ...defined({ mode: type === 'exec' ? 0o777 : undefined }),
          },
        ),
      );
      const { mediaType, digest, size } = layer;
      pulled.push({ path: path.join(options.out, title), mediaType, digest, size, outcome });
    }
  } finally {
    await progress.clear();
  }
  await printPulled(io, options.output, {
    reference: name,
    digest: named.digest,
    manifest: stored.digest,
    ...defined({ type }),
    verification,
    ...defined({ leftOut: leftOut.length === 0 ? undefined : leftOut }),
    files: pulled,
  });
}

/**
 * Verifies a catalog by its pinned key, and everything else by the policies. A catalog that is pinned needs no policy.
 */
async function judgePulled(
  io: Io,
  client: OciClient,
  artifact: OpenArtifact & { type: ArtifactType | undefined },
  trust: TrustStore,
  options: PullOptions,
): Promise<{ judged: JudgedArtifact; verification: PullVerification }> {
  const { reference, named, type } = artifact;
  const name = formatReference(reference);
  const pinned = await verifyPinnedArtifact(consumePorts(io), client, reference, named.digest);
  if (pinned === undefined) requireNoLimits(io, name, repositoryUrl(reference));
  else if (options.policy === undefined) {
    const { key: fingerprint, ...snapshot } = pinned;
    return {
      judged: { plan: { judge: 'nothing', reason: 'its key is pinned' }, evidence: [] },
      verification: {
        trusted: true,
        signer: { type: 'key', fingerprint: fingerprint as Digest },
        ...snapshot,
      },
    };
  }
  const judged = await judgeArtifact(io, client, artifact, trust, options);
  const isCatalog = type === 'catalog' && judged.plan.judge === 'nothing';
  const known: JudgedArtifact = isCatalog
    ? { ...judged, plan: { judge: 'nothing', reason: NOT_PINNED } }
    : judged;
  return { judged: known, verification: await requireVerdict(io, name, known, options) };
}

type PulledFile = { title: string; layer: Descriptor };

/**
 * Returns the files that the signature covers. A signature of only the definition does not cover titles or other files.
 */
function signedFiles(
  files: PulledFile[],
  { judgement, layer }: JudgedArtifact,
): { files: PulledFile[]; leftOut: string[] } {
  if (judgement?.trusted !== true || judgement.whole) return { files, leftOut: [] };
  const signed = files.filter((file) => file.layer === layer);
  const leftOut = files.filter((file) => file.layer !== layer).map(({ title }) => title);
  return {
    files: signed.map(({ title, layer }) => ({
      title: /^definition\.(ya?ml|json)$/.test(title) ? title : DEFAULT_TITLES.definition,
      layer,
    })),
    leftOut,
  };
}

/** Returns the manifest with layers; for an index, the one for the platform. */
async function resolveImage(
  client: OciClient,
  reference: Reference,
  named: StoredManifest,
  wanted: Platform | undefined,
): Promise<{ stored: StoredManifest; image: ImageManifest; type: ArtifactType | undefined }> {
  const { manifest } = named;
  const type = getArtifactType(manifest);
  if (manifest.kind === 'image') return { stored: named, image: manifest.image, type };
  const { os, architecture } = wanted ?? hostPlatform();
  const { manifests } = manifest.index;
  const found = manifests.find(
    ({ platform }) => platform?.os === os && platform.architecture === architecture,
  );
  if (found === undefined) {
    const names = manifests.flatMap(({ platform }) =>
      platform === undefined ? [] : [`${platform.os}/${platform.architecture}`],
    );
    throw new KrmhubError(
      'not-found',
      escapeControls(`${formatReference(reference)} has no manifest for ${os}/${architecture}`),
      {
        hint:
          names.length === 0
            ? 'Pull an artifact with platforms.'
            : escapeControls(`Use --platform with one of: ${names.join(', ')}`),
      },
    );
  }
  const { registry, repository } = reference;
  const stored = await client.manifest({ registry, repository, digest: found.digest });
  if (stored.manifest.kind !== 'image') {
    throw new KrmhubError(
      'invalid-document',
      `cannot pull ${formatReference(reference)}: its manifest for ${os}/${architecture} is another index`,
    );
  }
  return { stored, image: stored.manifest.image, type: getArtifactType(stored.manifest) ?? type };
}

function hostPlatform(): Platform {
  const [system, architecture] = [systemOf(), arch()];
  return { os: SYSTEMS[system] ?? system, architecture: ARCHITECTURES[architecture] ?? architecture };
}

/** Returns the files of an artifact. Titles are untrusted: none may leave the folder or repeat a file name. */
function artifactFiles(
  image: ImageManifest,
  type: ArtifactType | undefined,
  reference: string,
): PulledFile[] {
  const main = type === undefined ? undefined : mainLayer(image, type);
  const files = image.layers.flatMap((layer) => {
    const title = layer.annotations?.[TITLE] ?? (layer === main ? DEFAULT_TITLES[type!] : undefined);
    return title === undefined ? [] : [{ title, layer }];
  });
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const { title } of files) {
    if (!isPlainFileName(title)) problems.push(`${JSON.stringify(title.slice(0, 100))} is not a file name`);
    // The file systems of macOS and Windows ignore case.
    else if (seen.has(title.toLowerCase())) problems.push(`${JSON.stringify(title)} is a duplicate`);
    seen.add(title.toLowerCase());
  }
  if (problems.length > 0) {
    throw new KrmhubError(
      'invalid-document',
      escapeControls(`cannot pull ${reference}: invalid titles: ${problems.join('; ')}`),
      {
        hint: 'Nothing was written. Ask the publisher to push the artifact with valid titles.',
      },
    );
  }
  if (files.length === 0) {
    throw new KrmhubError('not-found', `${reference} has no files: no layer has a title`, {
      hint: `Pull an artifact of krmhub, for example of the type ${ARTIFACT_MEDIA_TYPES.catalog.artifact}.`,
    });
  }
  return files;
}

async function hasDigest(file: string, digest: OciDigest): Promise<boolean> {
  const algorithm = digest.slice(0, digest.indexOf(':'));
  const hash = createHash(algorithm);
  for await (const piece of createReadStream(file) as AsyncIterable<Uint8Array>) hash.update(piece);
  return `${algorithm}:${hash.digest('hex')}` === digest;
}

async function printPulled(io: Io, format: OutputFormat, pulled: Pulled): Promise<void> {
  await printData(io, format, pulled, async () => {
    for (const { path: file, size, outcome } of pulled.files) {
      const what = outcome === 'written' ? 'wrote' : 'unchanged:';
      await printLine(io, escapeControls(`${what} ${file} (${sizeText(size)})`));
    }
    const { reference, type, files, digest, leftOut = [] } = pulled;
    if (leftOut.length > 0) {
      await printLine(
        io,
        escapeControls(
          `not written, because the signature covers only the definition: ${leftOut.join(', ')}`,
        ),
      );
    }
    await printLine(io, escapeControls(`pulled ${reference} (${type ?? plural(files.length, 'file')})`));
    await printLine(io, `digest: ${digest}`);
  });
}
