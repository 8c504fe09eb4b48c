import {
  type ContainerRuntime,
  type ExecPlatform,
  type FunctionVersion,
  type Path,
  parseImageReference,
  RUNTIME_KINDS,
} from '@krmhub/schema';
import { readScriptReference } from '@krmhub/schema/script-reference';
import { formatValue } from './content.js';
import type { Report } from './rules.js';

/** Compares two API versions without their schemas. `at` is the position of the new one. */
export function compareRuntimes(
  before: FunctionVersion,
  after: FunctionVersion,
  at: Path,
  report: Report,
): void {
  const runtime = [...at, 'runtime'];
  for (const kind of RUNTIME_KINDS) {
    const [was, is] = [before.runtime[kind] !== undefined, after.runtime[kind] !== undefined];
    if (was === is) continue;
    report('runtime-changed', is ? [...runtime, kind] : runtime, `${kind} is ${is ? 'added' : 'removed'}`);
  }
  compareContainers(before.runtime.container, after.runtime.container, [...runtime, 'container'], report);
  comparePlatforms(
    before.runtime.exec?.platforms ?? [],
    after.runtime.exec?.platforms ?? [],
    [...runtime, 'exec'],
    report,
  );
  const [script, newScript] = [before.runtime.starlark, after.runtime.starlark];
  if (script !== undefined && newScript !== undefined) {
    const place = [...runtime, 'starlark'];
    comparePins('the script', pinnedDigest(script), pinnedDigest(newScript), place, report);
    compareAddresses(
      'the script',
      readScriptReference(script).uri,
      readScriptReference(newScript).uri,
      place,
      report,
    );
  }
  if (before.license !== after.license) {
    const message = `the license changed from ${formatValue(before.license)} to ${formatValue(after.license)}`;
    report('license-changed', [...at, 'license'], message);
  }
  if (before.idempotent !== after.idempotent) {
    report(
      after.idempotent ? 'idempotent-added' : 'idempotent-removed',
      [...at, 'idempotent'],
      `the function is ${after.idempotent ? 'now' : 'no longer'} idempotent`,
    );
  }
  const [took, takes] = [before.configMap === true, after.configMap === true];
  if (took !== takes) {
    report(
      takes ? 'config-map-added' : 'config-map-removed',
      takes ? [...at, 'configMap'] : at,
      `a ConfigMap is ${takes ? 'now' : 'no longer'} accepted as functionConfig`,
    );
  }
}

function compareContainers(
  before: ContainerRuntime | undefined,
  after: ContainerRuntime | undefined,
  at: Path,
  report: Report,
): void {
  if (after === undefined) return;
  const capabilities = [
    ['requireNetwork', 'network-required', 'network access'],
    ['requireStorageMount', 'storage-required', 'mounted storage'],
  ] as const;
  for (const [name, rule, what] of capabilities) {
    const [asked, asks] = [before?.[name] === true, after[name] === true];
    if (asks && !asked) report(rule, [...at, name], `the container requires ${what}`);
    if (asked && !asks) report('capability-dropped', at, `the container no longer requires ${what}`);
  }
  if (before !== undefined) compareImages(before, after, at, report);
}

function compareImages(before: ContainerRuntime, after: ContainerRuntime, at: Path, report: Report): void {
  const place = [...at, 'image'];
  const digests = [
    pinnedDigest(before.image, before.sha256),
    pinnedDigest(after.image, after.sha256),
  ] as const;
  comparePins('the image', ...digests, place, report);
  const [was, is] = [parseImageReference(before.image), parseImageReference(after.image)];
  if (!was.ok || !is.ok) {
    if (before.image === after.image) return;
    report(
      'registry-changed',
      place,
      `the image changed from ${formatValue(before.image)} to ${formatValue(after.image)}`,
    );
    return;
  }
  if (was.host !== is.host) {
    const message = `the image registry changed from ${was.host ?? '(none)'} to ${is.host ?? '(none)'}`;
    report('registry-changed', place, message);
  }
  const [old, now] = digests;
  const bothPinned = old !== undefined && now !== undefined;
  const digestText = bothPinned ? `, the digest ${old === now ? 'is the same' : 'changed'}` : '';
  if (was.repository !== is.repository) {
    report(
      'repository-changed',
      place,
      `the image repository changed from ${was.repository} to ${is.repository}${digestText}`,
    );
  } else if (was.tag !== is.tag) {
    report(
      'image-changed',
      place,
      `the image tag changed from ${was.tag ?? '(none)'} to ${is.tag ?? '(none)'}${digestText}`,
    );
  } else if (bothPinned && old !== now) {
    report('image-changed', place, 'the image digest changed; the tag is the same');
  }
}

/** Reports a reference that is pinned by digest only on one side. */
function comparePins(
  what: string,
  before: string | undefined,
  after: string | undefined,
  at: Path,
  report: Report,
): void {
  if ((before === undefined) === (after === undefined)) return;
  if (after === undefined) report('digest-removed', at, `${what} is no longer pinned by digest`);
  else report('digest-added', at, `${what} is now pinned by digest`);
}

/** Returns the digest of a reference, from its field or its URL, as 64 hexadecimal digits. */
export function pinnedDigest(address: string | undefined, field?: string): string | undefined {
  return field?.replace(/^sha256:/, '') ?? /(?:@sha256:|#sha256=)([0-9a-f]{64})$/.exec(address ?? '')?.[1];
}

function comparePlatforms(
  before: readonly ExecPlatform[],
  after: readonly ExecPlatform[],
  at: Path,
  report: Report,
): void {
  // If all executables are removed, only the removed runtime is reported.
  if (before.length === 0 || after.length === 0) return;
  const nameOf = ({ os, arch }: ExecPlatform) => `${os}/${arch}`;
  const old = new Map(before.map((platform) => [nameOf(platform), platform]));
  const now = new Map(after.map((platform, index) => [nameOf(platform), { platform, index }]));
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

function compareAddresses(what: string, before: string, after: string, at: Path, report: Report): void {
  if (before === after) return;
  const [was, is] = [addressHost(before), addressHost(after)];
  if (was === is) report('download-changed', at, `${what} has another URL on ${is}`);
  else report('registry-changed', at, `the host of ${what} changed from ${was} to ${is}`);
}

/** Returns the host of a URL: the text between the scheme and the first slash. */
function addressHost(address: string): string {
  return /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)/i.exec(address)?.[1]?.toLowerCase() ?? address;
}
