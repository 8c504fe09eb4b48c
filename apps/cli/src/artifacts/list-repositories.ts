import { registryUrl } from '@krmhub/consume/references/registry-url';
import { parseReference } from '@krmhub/oci';
import { functionRepository } from '@krmhub/oci/function-repository';
import { KrmhubError } from '@krmhub/schema/error';
import { hideInValue } from '@krmhub/schema/hide-passwords';
import { parseUrl } from '@krmhub/schema/parse-url';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable } from '../io/print.js';
import { Progress } from '../io/progress.js';
import { connectOci } from '../registry/connect-oci.js';
import { parseFunctionReference } from '../registry/function-reference.js';
import { type ArtifactOptions, isReleaseName } from '../registry/release-artifact.js';

export interface RepoOptions extends ArtifactOptions {
  output: OutputFormat;
}

/** Lists the repositories of an OCI registry; by default, of the configured one. */
export async function listRepositories(
  io: Io,
  host: string | undefined,
  options: RepoOptions,
): Promise<void> {
  if (host !== undefined && /[/@]/.test(host)) {
    const shown = hideInValue(host);
    throw new KrmhubError('usage', `${JSON.stringify(shown)} is not a registry host`, {
      hint: `Use HOST or HOST:PORT, for example localhost:5000. List tags: krmhub repo tags ${shown}`,
    });
  }
  const own = configuredRegistry(io, options);
  const registry = host ?? own.host;
  const progress = new Progress(io);
  const client = connectOci(io, progress, own.options);
  const repositories = await client.repositories(registry).finally(() => progress.clear());
  if (repositories === undefined) {
    throw new KrmhubError('unsupported', `${registry} does not list its repositories`, {
      hint: `List the tags of a repository: krmhub repo tags ${registry}/REPOSITORY`,
    });
  }
  await printNames(io, options.output, { registry, repositories }, 'REPOSITORY', repositories);
  await printLine(
    io,
    escapeControls(`${registry}: ${plural(repositories.length, 'repository', 'repositories')}`),
  );
}

/** Lists the tags of a repository: of a function in the configured registry, or of any OCI registry. */
export async function listTags(io: Io, text: string, options: RepoOptions): Promise<void> {
  const own = configuredRegistry(io, options);
  const { registry, repository } = readRepository(text, own.host);
  const name = `${registry}/${repository}`;
  const progress = new Progress(io);
  const client = connectOci(io, progress, own.options);
  const tags = await client.tags({ registry, repository }).finally(() => progress.clear());
  await printNames(io, options.output, { repository: name, tags }, 'TAG', tags);
  await printLine(io, escapeControls(`${name}: ${plural(tags.length, 'tag')}`));
}

function configuredRegistry(io: Io, options: RepoOptions): { host: string; options: ArtifactOptions } {
  const url = registryUrl(io, options.registry);
  const { host } = parseUrl(url) ?? {};
  if (host === undefined || host === '') {
    throw new KrmhubError('usage', `${JSON.stringify(url)} is not a valid registry URL`, {
      hint: 'Use a URL such as https://krm.example.com or http://localhost:8080.',
    });
  }
  return { host, options: { ...options, registry: url } };
}

/** Parses GROUP/KIND, or HOST/REPOSITORY without a tag. */
function readRepository(text: string, ownHost: string): { registry: string; repository: string } {
  if (isReleaseName(text)) {
    const { group = '', kind, release } = parseFunctionReference(text);
    if (release === undefined) return { registry: ownHost, repository: functionRepository({ group, kind }) };
    throw new KrmhubError('usage', `${JSON.stringify(text)} is one release, expected a function`, {
      hint: `Remove the release: ${group}/${kind}`,
    });
  }
  const bare = text.replace(/^oci:\/\//, '');
  if (/^[^/]+\/.*[:@]/.test(bare)) {
    throw new KrmhubError('usage', `${JSON.stringify(text)} has a tag or a digest`, {
      hint: 'Use HOST/REPOSITORY, for example: krmhub repo tags localhost:5000/team/catalog',
    });
  }
  return parseReference(`${bare}:latest`);
}

async function printNames(
  io: Io,
  output: OutputFormat,
  data: object,
  header: string,
  names: readonly string[],
): Promise<void> {
  const cells = (name: string) => [name];
  await printData(io, output, data, () =>
    printTable(io, [{ header }], names, { terminal: cells, pipe: cells }),
  );
}
