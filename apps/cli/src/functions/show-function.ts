/**
 * Creates, converts, compares, searches, and shows functions, and changes the state of releases.
 *
 * @module
 */

import type { RegistryClient } from '@krmhub/api/client';
import type { Release } from '@krmhub/api/model';
import { fillPath } from '@krmhub/api/paths';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData } from '../io/print.js';
import { findFunctionName } from '../registry/find-function-name.js';
import { parseFunctionReference } from '../registry/function-reference.js';
import { releaseReference } from '../registry/release-artifact.js';

export interface ShowOptions {
  output: OutputFormat;
  registry?: string;
}

export async function showFunction(io: Io, text: string, options: ShowOptions): Promise<void> {
  const reference = parseFunctionReference(text);
  const { connect } = await import('../registry/connection.js');
  const client = await connect(io, options.registry);
  const { group, kind } = await findFunctionName(client, reference);
  if (reference.release !== undefined && options.output !== 'table') {
    const release = await client.release(group, kind, reference.release);
    return printData(io, options.output, withReference(client, release), async () => undefined);
  }
  const fn = await client.function(group, kind);
  const { newest } = fn;
  const data = newest === undefined ? fn : { ...fn, newest: withReference(client, newest) };
  await printData(io, options.output, data, async () => {
    const release =
      reference.release === undefined ? fn.newest : await client.release(group, kind, reference.release);
    const entries = fn.entries ?? [];
    const definition = release?.definition ?? entries[0]?.definition;
    if (definition === undefined) {
      throw new KrmhubError(
        'unreachable',
        `unexpected response from ${client.url}: ${fn.group}/${fn.kind} has no release and no catalog entry`,
        {
          hint: 'Check the URL of the registry (--registry or KRMHUB_REGISTRY).',
        },
      );
    }
    const { printFunctionPage } = await import('./function-page.js');
    const name = { group: fn.group, kind: fn.kind };
    // The built-in catalog has the displayed releases.
    const isInDefault = release?.release === fn.newest?.release && fn.catalogs.includes('default');
    const catalog = release === undefined ? entries[0]?.catalog : isInDefault ? 'default' : undefined;
    await printFunctionPage(io, {
      ...name,
      definition,
      ...defined({
        owner: fn.owner,
        known:
          release === undefined
            ? undefined
            : {
                release,
                newest: fn.newest?.release ?? release.release,
                reference: releaseReference(client.url, release),
                releaseUrl: client.url + fillPath('release', { ...name, release: release.release }),
              },
      }),
      releases: fn.releases,
      takedowns: fn.takedowns ?? [],
      catalogs: fn.catalogs,
      entries,
      schemaUrl: (version) => client.functionConfigSchemaUrl(fn.group, version, fn.kind),
      catalogUrl: catalog && `${client.url}/catalogs/${catalog}`,
    });
  });
}

/** Adds the OCI reference, which depends on the URL of the registry. */
function withReference({ url }: RegistryClient, release: Release): Release & { reference: string } {
  return { ...release, reference: releaseReference(url, release) };
}
