/**
 * The command line of this version, for users of this registry: the page that says how to install it, its npm package,
 * and executables.
 *
 * @module
 */

import { join } from 'node:path';
import { createRoute, z } from '@hono/zod-openapi';
import { KrmhubError, sha256 } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import {
  bytesResponse,
  CACHE_FOREVER,
  CACHE_REVALIDATE,
  textResponse,
  uncompressed,
} from '../../http/bytes-response.js';
import type { RegistryApp, RegistryContext } from '../../http/context.js';
import type { DerivedDocuments } from '../../workers/derive/derived-documents.js';
import { CLI, INSTALL } from '../addresses.js';
import { pageResponse } from '../page-response.js';
import { servePage } from '../serve-page.js';
import type { Site } from '../site.js';
import type { Downloads } from './downloads.js';
import {
  CHECKSUMS,
  CHECKSUMS_BUNDLE,
  type Executable,
  ExecutableFinder,
  readChecksums,
  readHashed,
} from './executables.js';
import { InstallPage } from './install-page.js';
import { PROGRAM_FOLDER, programVersion } from './program-folder.js';
import { PROGRAM_PACKAGE } from './program-package.js';

const { version, isCheckout } = programVersion();
const PACKAGE_NAME = `krmhub-${version}.tgz`;
/** A checkout can build other bytes of the same version. */
const CACHE = isCheckout ? CACHE_REVALIDATE : CACHE_FOREVER;

export const INSTALL_ROUTES = {
  install: createRoute({
    method: 'get',
    path: INSTALL,
    responses: { 200: { description: 'How to install the command line' } },
  }),
  download: createRoute({
    method: 'get',
    path: `${CLI}/{file}`,
    request: { params: z.object({ file: z.string() }) },
    responses: { 200: { description: 'A file of the command line' } },
  }),
} as const;

export interface InstallDeps {
  config: { executablesFolder?: string };
  derived: DerivedDocuments;
  site: Site;
}

export function installRoutes(app: RegistryApp, { config, derived, site }: InstallDeps): void {
  const folder = config.executablesFolder ?? join(PROGRAM_FOLDER, 'build/executables');
  const finder = new ExecutableFinder(version, folder);
  const find = async (c: RegistryContext): Promise<Downloads> => {
    const { offered: executables, problems, checksums = '', bundle } = await finder.find();
    const bytes = await derived.bytes(c, PROGRAM_PACKAGE, { version });
    const packed = { name: PACKAGE_NAME, size: bytes.byteLength, digest: sha256(bytes) };
    const program = bytes.byteLength === 0 ? undefined : packed;
    const files = [...(program === undefined ? [] : [program]), ...executables];
    const listed = readChecksums(checksums);
    const isComplete = files.every(({ name, digest }) => listed.get(name) === digest);
    const lines = files.map(({ name, digest }) => `${digest.slice('sha256:'.length)}  ${name}\n`);
    return {
      version,
      executables,
      problems,
      checksums: isComplete ? { text: checksums, ...defined({ bundle }) } : { text: lines.join('') },
      ...defined({ program }),
    };
  };
  servePage(app, INSTALL_ROUTES.install, {}, async (c) =>
    pageResponse(c, site, {
      head: {
        title: 'Install the command line',
        description: 'How to install krmhub and connect it to this registry.',
        path: INSTALL,
      },
      body: <InstallPage downloads={await find(c)} />,
    }),
  );
  servePage(app, INSTALL_ROUTES.download, {}, async (c, { params: { file } }) => {
    const { program, executables, checksums } = await find(c);
    if (file === program?.name) {
      const served = { mediaType: 'application/gzip', cacheControl: CACHE };
      return derived.respondWithDigest(c, PROGRAM_PACKAGE, { version }, served);
    }
    const executable = executables.find(({ name }) => name === file);
    if (executable !== undefined) return executableResponse(c, executable);
    if (file === CHECKSUMS) {
      return textResponse(c, checksums.text, {
        mediaType: 'text/plain; charset=utf-8',
        cacheControl: CACHE_REVALIDATE,
      });
    }
    if (file === CHECKSUMS_BUNDLE && checksums.bundle !== undefined) {
      const { bundle } = checksums;
      return bytesResponse(c, {
        digest: sha256(bundle),
        mediaType: 'application/json',
        cacheControl: CACHE_REVALIDATE,
        find: async () => uncompressed(bundle),
      });
    }
    throw new KrmhubError('not-found', `file ${file} not found`, {
      hint: `${INSTALL} lists the files of this version, ${version}.`,
    });
  });
}

/** Streams an executable, compressed for clients that accept it. */
function executableResponse(c: RegistryContext, { name, compressed, ...executable }: Executable) {
  return bytesResponse(c, {
    digest: executable.digest,
    mediaType: 'application/octet-stream',
    cacheControl: CACHE,
    headers: { 'Content-Disposition': `attachment; filename="${name}"` },
    coded: true,
    codings: compressed === undefined ? ['identity'] : ['gzip', 'identity'],
    find: async (coding) => {
      const sent = (coding === 'gzip' ? compressed : undefined) ?? executable;
      return {
        coding: sent === compressed ? 'gzip' : 'identity',
        body: { size: sent.size, pieces: readHashed(sent) },
      };
    },
  });
}
