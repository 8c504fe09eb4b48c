/** Executables: one file or archive per platform. */

import { defined } from '@krmhub/schema/defined';
import {
  ARCHITECTURES,
  type Architecture,
  type ExecPlatform,
  type ExecRuntime,
  OPERATING_SYSTEMS,
  type OperatingSystem,
} from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';
import { type Digest, isDigest } from '@krmhub/schema/digests/is-digest';
import { ociDigest } from '@krmhub/schema/image-reference';
import { shellWord } from '@krmhub/schema/text';
import { changedReference, compareAddresses, comparePins, pinnedDigest } from './compare-references.js';
import { type LockField, MAX_PLATFORMS, readAddress, readDigest, readMatch } from './lock-fields.js';
import {
  CATALOG_HINT,
  type CatalogRuntime,
  pinned,
  type ReportChange,
  type RuntimePlan,
  refused,
  type UsagePart,
} from './runtime.js';

export interface PinnedExec {
  type: 'exec';
  platforms: PinnedPlatform[];
}

export interface PinnedPlatform {
  os: OperatingSystem;
  arch: Architecture;
  /** The executable, or its path in the archive. */
  bin: string;
  uri: string;
  /**
   * Digest of what `uri` gives; of the manifest, where `uri` is `oci://…@sha256:…` and the catalog has no digest
   * besides.
   */
  sha256: Digest;
}

/** A file name or a path below the folder of an archive; what leaves it is refused when it is unpacked too. */
const BIN = /^(?![/-])(?!.*(?:^|\/)\.\.(?:\/|$))[^\p{C}\\]+$/u;

export const exec: CatalogRuntime<ExecRuntime, PinnedExec> = {
  programs: ({ platforms }) =>
    platforms.map((platform) => ({
      reference: platform.uri,
      ...defined({ beside: platform.sha256, inside: ociDigest(platform.uri) }),
      platform: platformName(platform),
    })),
  rewrite: ({ platforms }, rewrite) => ({
    platforms: platforms.map((one) => ({ ...one, uri: rewrite(one.uri) })),
  }),
  order: ({ platforms }) => ({
    platforms: platforms.map(({ bin, os, arch, uri, sha256 }) => ({
      bin,
      os,
      arch,
      uri,
      ...defined({ sha256 }),
    })),
  }),
  withoutPlaces: ({ platforms }) =>
    platforms.map((platform) => {
      const digest = platform.sha256 ?? ociDigest(platform.uri);
      return digest === undefined ? platform : { ...platform, uri: '', sha256: digest };
    }),
  takedownPins: ({ platforms }) =>
    platforms
      .flatMap(({ sha256, uri }) => [`sha256:${sha256}`, `sha256:${ociDigest(uri)}`])
      .filter((digest) => isDigest(digest)),
  draft: ({ url, platforms }) => `exec:
  platforms:
    # CHANGE: the downloads. When you have built them, \`krmhub pin\` adds their digests.
${platforms
  .map(
    ({ os, arch, bin, file }) => `    - bin: ${bin}
      os: ${os}
      arch: ${arch}
      uri: ${url}/v0.1.0/${file}
      sha256: "${'0'.repeat(64)}"
`,
  )
  .join('')}`,
  access: () => 'everything',
  permissions: () => 'executable: all permissions of the user',
  usage,
  unsupported: {
    kustomize: 'the prototype requires a local executable and does not download one',
    porch: 'Porch runs only executables that its own image contains',
  },
  compare(before, after, at, report) {
    if (before !== undefined) comparePlatforms(before.platforms, after.platforms, at, report);
  },
  changed(before, after, below) {
    const platform = after?.platforms[Number(below[1])];
    // Of several executables for one platform, the last is compared.
    const earlier = before?.platforms.findLast(
      ({ os, arch }) => os === platform?.os && arch === platform.arch,
    );
    if (platform === undefined || earlier === undefined) return {};
    return {
      before: changedReference(earlier.uri, earlier.sha256),
      after: changedReference(platform.uri, platform.sha256),
    };
  },

  pin: pinExec,
  declare: ({ platforms }) => ({
    platforms: platforms.map((one) => ({ ...one, sha256: one.sha256.slice('sha256:'.length) })),
  }),
  pinnedPrograms: ({ platforms }) =>
    platforms.map((one) => ({ uri: one.uri, sha256: one.sha256, platform: platformName(one), bin: one.bin })),
  isComplete: ({ platforms }) => Array.isArray(platforms),
  readLock,
  lockDocument({ platforms }) {
    // Of several for one platform, the first is what runs.
    const byName = new Map(platforms.toReversed().map((one) => [platformName(one), one]));
    const names = [...byName.keys()].sort();
    return {
      platforms: names.map((name) => {
        const { os, arch, bin, uri, sha256 } = byName.get(name)!;
        return { os, arch, bin, uri, sha256 };
      }),
    };
  },
  difference: execDifference,
};

function platformName({ os, arch }: { os: string; arch: string }): string {
  return `${os}/${arch}`;
}

function usage({ platforms }: ExecRuntime, file: string): UsagePart[] {
  const parts: UsagePart[] = platforms.map((platform) => {
    const { bin, uri, sha256 } = platform;
    const address = sha256 === undefined ? `${uri}\n` : `${uri}\nsha256:${sha256}\n`;
    return {
      text: `${platformName(platform)}, runs ${bin}:`,
      snippet: isFile(platform) && platform.os !== 'windows' ? download(platform) : address,
    };
  });
  const bins = [...new Set(platforms.map(({ bin }) => bin))];
  if (bins.length === 1) {
    parts.push({
      text: platforms.every(isFile)
        ? 'Then run with kpt:'
        : 'Verify the digest of the download and unpack it. Then run with kpt:',
      snippet: `kpt fn eval . --exec ${shellWord(relativeCommand(bins[0]!))} --fn-config ${file}\n`,
    });
  }
  return parts;
}

/** Whether the download is the executable and no archive, by its name. */
function isFile({ bin, uri }: ExecPlatform): boolean {
  return /^https?:/.test(uri) && !bin.includes('/') && !/\.(?:tar|tgz|zip|gz|bz2|xz|zst)$/i.test(uri);
}

/** Commands for a shell that download a file and check its digest. */
function download({ os, bin, uri, sha256 }: ExecPlatform): string {
  const file = relativeCommand(bin);
  const check = os === 'darwin' ? 'shasum -a 256 -c' : 'sha256sum -c';
  return [
    `curl -fsSLo ${shellWord(file)} ${shellWord(uri)}`,
    ...(sha256 === undefined ? [] : [`echo ${shellWord(`${sha256}  ${file}`)} | ${check}`]),
    `chmod +x ${shellWord(file)}\n`,
  ].join(' &&\n  ');
}

function relativeCommand(bin: string): string {
  return bin.includes('/') ? bin : `./${bin}`;
}

function comparePlatforms(
  before: readonly ExecPlatform[],
  after: readonly ExecPlatform[],
  at: Path,
  report: ReportChange,
): void {
  // If all executables are removed, only the removed runtime is reported.
  if (before.length === 0 || after.length === 0) return;
  const old = new Map(before.map((platform) => [platformName(platform), platform]));
  const now = new Map(after.map((platform, index) => [platformName(platform), { platform, index }]));
  for (const name of old.keys()) {
    if (!now.has(name))
      report('platform-removed', [...at, 'platforms'], `the executable for ${name} is removed`);
  }
  for (const [name, { platform, index }] of now) {
    const place = [...at, 'platforms', index];
    const was = old.get(name);
    if (was === undefined) {
      report('platform-added', place, `an executable for ${name} is added`);
      continue;
    }
    const what = `the executable for ${name}`;
    const digest = pinnedDigest(was.uri, was.sha256);
    const newDigest = pinnedDigest(platform.uri, platform.sha256);
    comparePins(what, digest, newDigest, [...place, 'uri'], report);
    if (was.uri !== platform.uri) {
      compareAddresses(what, was.uri, platform.uri, [...place, 'uri'], report);
    } else if (
      (digest !== undefined && newDigest !== undefined && digest !== newDigest) ||
      was.bin !== platform.bin
    ) {
      report('download-changed', place, `the digest or path of ${what} changed; the URL is the same`);
    }
  }
}

function pinExec({ platforms }: ExecRuntime): RuntimePlan<PinnedExec> {
  const found = platforms.map(({ os, arch, bin, uri, sha256 }) => {
    const digest = `sha256:${sha256 ?? ociDigest(uri) ?? ''}`;
    return { os, arch, bin, uri, ...defined({ sha256: isDigest(digest) ? digest : undefined }) };
  });
  const unpinned = found.find((one) => one.sha256 === undefined);
  if (unpinned !== undefined) {
    const reason = `the executable ${unpinned.uri} for ${unpinned.os}/${unpinned.arch} has no sha256`;
    return refused('untrusted', reason, CATALOG_HINT);
  }
  return pinned({ type: 'exec', platforms: found.map((one) => ({ ...one, sha256: one.sha256! })) });
}

function readLock(field: LockField): PinnedExec | undefined {
  const written = field.mapping({ required: ['platforms'] })?.get('platforms');
  const list = written?.list(MAX_PLATFORMS);
  if (list === undefined) return undefined;
  if (list.length === 0) written?.report('lock/runtime', 'the list of platforms is empty');
  const seen = new Set<string>();
  const platforms = list.flatMap((one) => readExecPlatform(one) ?? []);
  for (const [index, { os, arch }] of platforms.entries()) {
    const name = `${os}/${arch}`;
    if (seen.has(name)) list[index]!.report('lock/duplicate', `${name} appears twice`);
    seen.add(name);
  }
  return { type: 'exec', platforms };
}

function readExecPlatform(field: LockField): PinnedPlatform | undefined {
  const required = ['os', 'arch', 'bin', 'uri', 'sha256'];
  const item = field.mapping({ required });
  if (item === undefined || required.some((name) => item.get(name) === undefined)) return undefined;
  const os = OPERATING_SYSTEMS.find((one) => one === item.get('os')?.value);
  const arch = ARCHITECTURES.find((one) => one === item.get('arch')?.value);
  if (os === undefined) item.get('os')?.report('lock/runtime', 'not a known operating system');
  if (arch === undefined) item.get('arch')?.report('lock/runtime', 'not a known architecture');
  const bin = readMatch(item.get('bin'), BIN, 'a path inside the archive');
  const uri = readAddress(item.get('uri'));
  const sha256 = readDigest(item.get('sha256'));
  if (os === undefined || arch === undefined || bin === undefined) return undefined;
  return uri === undefined || sha256 === undefined ? undefined : { os, arch, bin, uri, sha256 };
}

function execDifference(locked: PinnedExec, declared: PinnedExec, anyPlace: boolean): string | undefined {
  const names = new Set([...locked.platforms, ...declared.platforms].map(platformName));
  for (const name of names) {
    // Of several for one platform, the first is what runs.
    const now = locked.platforms.find((one) => platformName(one) === name);
    const wanted = declared.platforms.find((one) => platformName(one) === name);
    if (now === undefined) return `the executable for ${name} is missing`;
    if (wanted === undefined) return `the definition has no executable for ${name}`;
    if (now.sha256 !== wanted.sha256) {
      return `the executable for ${name} has the digest ${now.sha256}, expected ${wanted.sha256}`;
    }
    if (now.bin !== wanted.bin) return `the executable for ${name} is ${now.bin}, expected ${wanted.bin}`;
    if (!anyPlace && now.uri !== wanted.uri) {
      return `the executable for ${name} is at ${now.uri}, expected ${wanted.uri}`;
    }
  }
  return undefined;
}
