import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { arch, platform as systemOf } from 'node:os';
import path from 'node:path';
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
import { KrmhubError } from '@krmhub/schema/error';
import { diskError } from '../files/read-file.js';
import { writePiecesAtomically } from '../files/write-file.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { sizeText } from '../io/size-text.js';
import { plural, visible } from '../io/text.js';
import { connectOci } from '../registry/connect-oci.js';
import {
  type JudgedArtifact,
  judgeArtifact,
  openTrust,
  type PullVerification,
  requireVerdict,
} from '../signatures/trust/judge-artifact.js';
import { isPlainFileName } from './artifact-source.js';

export interface PullOptions {
  out: string;
  platform?: Platform;
  overwrite?: boolean;
  plainHttp?: string[];
  policy?: string;
  requireTrust?: boolean;
  trustedRoot?: string;
  output: OutputFormat;
}

/** What a pull did, as JSON has it. */
interface Pulled {
  reference: string;
  /** Of what the reference names, and of the manifest for the platform where that is another one. */
  digest: OciDigest;
  manifest: OciDigest;
  type?: ArtifactType;
  verification: PullVerification;
  /** Titles of files that were not written, since the signature is of the definition alone. */
  leftOut?: string[];
  files: {
    path: string;
    mediaType: string;
    digest: OciDigest;
    size: number;
    outcome: 'written' | 'unchanged';
  }[];
}

/** What layers without a title are called. */
const DEFAULT_TITLES: Record<ArtifactType, string> = {
  catalog: 'catalog.yaml',
  definition: 'definition.yaml',
  starlark: 'function.star',
  exec: 'function',
};
/** By Node's names of them. */
const ARCHITECTURES: Record<string, string> = { x64: 'amd64', ia32: '386' };
const SYSTEMS: Record<string, string> = { win32: 'windows' };

/**
 * Writes the files of an artifact into a folder, each whole and with the bytes of its digest, or not at all. Before any of
 * them is written it is known who vouches for it, where the user has said who should.
 */
export async function pullArtifact(io: Io, text: string, options: PullOptions): Promise<void> {
  const reference = parseReference(text);
  const trust = await openTrust(io, options);
  const progress = new Progress(io);
  const client = connectOci(io, progress, options.plainHttp);
  const named = await client.manifest(reference);
  const { stored, image, type } = await imageOf(client, reference, named, options.platform);
  const name = formatReference(reference);
  const all = filesOf(image, type, name);
  const artifact = { reference, named, stored, image, files: all.map(({ layer }) => layer) };
  const judged = await judgeArtifact(io, client, artifact, trust, options).finally(() => progress.clear());
  const verification = await requireVerdict(io, name, judged, options);
  const { files, leftOut } = vouchedFor(all, judged);
  const folder = path.resolve(io.cwd, options.out);
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw diskError(error, `no folder can be made at ${options.out}`);
  });
  const pulled: Pulled['files'] = [];
  const total = files.reduce((sum, { layer }) => sum + layer.size, 0);
  let received = 0;
  try {
    for (const { title, layer } of files) {
      const file = path.join(folder, title);
      let own = 0;
      const outcome = await client.withRetries(() =>
        writePiecesAtomically(
          file,
          {
            same: () => hasDigest(file, layer.digest),
            pieces: async function* () {
              received -= own;
              own = 0;
              for await (const piece of await client.blob(reference, layer)) {
                own += piece.byteLength;
                received += piece.byteLength;
                await progress.tick(() => `pulling ${sizeText(received)} of ${sizeText(total)}`);
                yield piece;
              }
            },
          },
          { overwrite: options.overwrite === true, ...(type === 'exec' ? { mode: 0o777 } : {}) },
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
    ...(type === undefined ? {} : { type }),
    verification,
    ...(leftOut.length === 0 ? {} : { leftOut }),
    files: pulled,
  });
}

type PulledFile = { title: string; layer: Descriptor };

/** A signature of the definition alone says nothing of what stands beside it, nor what it is called. */
function vouchedFor(
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

/** The manifest with layers: of an index, the one for the platform. */
async function imageOf(
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
      visible(`${formatReference(reference)} has nothing for ${os}/${architecture}`),
      {
        hint:
          names.length === 0
            ? 'It names no platforms.'
            : visible(`Give --platform one of ${names.join(', ')}.`),
      },
    );
  }
  const { registry, repository } = reference;
  const stored = await client.manifest({ registry, repository, digest: found.digest });
  if (stored.manifest.kind !== 'image') {
    throw new KrmhubError('invalid-document', 'the index names another index for the platform');
  }
  return { stored, image: stored.manifest.image, type: getArtifactType(stored.manifest) ?? type };
}

function hostPlatform(): Platform {
  const [system, architecture] = [systemOf(), arch()];
  return { os: SYSTEMS[system] ?? system, architecture: ARCHITECTURES[architecture] ?? architecture };
}

/** Titles come from elsewhere: none of them may lead out of the folder, or name a file twice. */
function filesOf(image: ImageManifest, type: ArtifactType | undefined, reference: string): PulledFile[] {
  const main = type === undefined ? undefined : mainLayer(image, type);
  const files = image.layers.flatMap((layer) => {
    const title = layer.annotations?.[TITLE] ?? (layer === main ? DEFAULT_TITLES[type!] : undefined);
    return title === undefined ? [] : [{ title, layer }];
  });
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const { title } of files) {
    if (!isPlainFileName(title)) problems.push(`${JSON.stringify(title.slice(0, 100))} is no name of a file`);
    // File systems of macOS and Windows know no case.
    else if (seen.has(title.toLowerCase())) problems.push(`${JSON.stringify(title)} is there twice`);
    seen.add(title.toLowerCase());
  }
  if (problems.length > 0) {
    throw new KrmhubError(
      'invalid-document',
      visible(`the titles of ${reference} cannot be files: ${problems.join('; ')}`),
      {
        hint: 'Nothing was written.',
      },
    );
  }
  if (files.length === 0) {
    throw new KrmhubError('not-found', `${reference} holds no files: none of its layers has a title`, {
      hint: `It is no artifact of KEP-2906, such as ${ARTIFACT_MEDIA_TYPES.catalog.artifact}.`,
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
      const what = outcome === 'written' ? 'Wrote' : 'Unchanged:';
      await printLine(io, visible(`${what} ${file} (${sizeText(size)})`));
    }
    const { reference, type, files, digest, leftOut = [] } = pulled;
    if (leftOut.length > 0) {
      await printLine(io, visible(`Left out, since only the definition is signed: ${leftOut.join(', ')}`));
    }
    await printLine(io, visible(`Pulled ${reference} (${type ?? plural(files.length, 'file')})`));
    await printLine(io, `Digest: ${digest}`);
  });
}
