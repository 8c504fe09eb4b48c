import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Release } from '@krmhub/api/model';
import type { WorkingFolder } from '@krmhub/consume/ports';
import { functionRepository } from '@krmhub/oci/function-repository';
import { KrmhubError } from '@krmhub/schema/error';
import { isGroup, isKind } from '@krmhub/schema/gvk';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import { parseFunctionReference } from './function-reference.js';

/** Options of a command that takes GROUP/KIND[@RELEASE] or an OCI reference. */
export interface ArtifactOptions {
  registry?: string;
  plainHttp?: string[];
}

/**
 * Reports whether a text is GROUP/KIND or GROUP/KIND@RELEASE. A kind in lower case is not, without a release: it may be
 * a repository without a tag. An OCI reference always has a colon after its host.
 */
export function isReleaseName(text: string): boolean {
  const [, group = '', kind = '', release] = /^([^/:@]+)\/([^/:@]+)(@[^/:@]*)?$/.exec(text) ?? [];
  return isGroup(group) && isKind(kind) && (release !== undefined || /[A-Z]/.test(kind));
}

/** Returns the OCI reference of a release in the registry with this URL, for example localhost:8080/functions/…. */
export function releaseReference(
  registryUrl: string,
  { group, kind, release }: Pick<Release, 'group' | 'kind' | 'release'>,
): string {
  return `${new URL(registryUrl).host}/${functionRepository({ group, kind })}:${release}`;
}

/**
 * Returns the OCI reference that a name means, with the options to read it: of a release in the configured registry for
 * [GROUP/]KIND[@RELEASE], which it prints, else the text itself. With `files`, an existing file takes precedence. Rejects
 * with `not-found` if the registry has no such release.
 */
export async function resolveArtifact<Options extends ArtifactOptions>(
  io: Io,
  text: string,
  options: Options,
  { files = false }: { files?: boolean } = {},
): Promise<{ name: string; options: Options }> {
  const isName = isReleaseName(text) || /^[A-Z][A-Za-z0-9]*(@[^/:@]*)?$/.test(text);
  if (!isName || (files && (await exists(io, text)))) return { name: text, options };
  const { connect } = await import('./connection.js');
  const client = await connect(io, options.registry);
  const { release, ...named } = parseFunctionReference(text);
  const { findFunctionName } = await import('./find-function-name.js');
  const { group, kind } = await findFunctionName(client, named);
  const found =
    release === undefined
      ? newestRelease(await client.function(group, kind))
      : await client.release(group, kind, release);
  const name = releaseReference(client.url, found);
  await printLine(io, escapeControls(`${found.group}/${found.kind}@${found.release} is ${name}`));
  return { name, options: { ...options, registry: client.url } };
}

/** Returns the newest release. Throws `not-found` if there is none, or only yanked ones. */
export function newestRelease({
  group,
  kind,
  newest,
}: {
  group: string;
  kind: string;
  newest?: Release | undefined;
}): Release {
  if (newest === undefined) {
    throw new KrmhubError('not-found', `the registry has no release of ${group}/${kind}`, {
      hint: `Only upstream catalogs have it. Show their entries: krmhub show ${group}/${kind}`,
    });
  }
  if (newest.yanked === undefined) return newest;
  throw new KrmhubError('not-found', `all releases of ${group}/${kind} are yanked`, {
    hint: `To use a yanked release, name it: ${group}/${kind}@${newest.release}`,
  });
}

async function exists(io: WorkingFolder, name: string): Promise<boolean> {
  return stat(path.resolve(io.cwd, name)).then(
    () => true,
    () => false,
  );
}
