import { parseRegistryUrl } from '@krmhub/api/client';
import { configuredRegistry, DEFAULT_REGISTRY } from '@krmhub/consume/references/registry-url';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';
import { parseUrl } from '@krmhub/schema/parse-url';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../io/print.js';
import { chooseDefault, environmentToken, withoutSlash } from './credentials.js';
import { defaultRegistry, readCredentials } from './credentials-file.js';
import { relativeExpiry } from './print-tokens.js';

/** Lists the registries with a saved token, without the tokens. Asks no registry. */
export async function listLogins(io: Io, output: OutputFormat): Promise<void> {
  const { tokens, defaultRegistry: url = DEFAULT_REGISTRY } = readCredentials(io);
  const chosen = new URL(url).origin;
  const registries = Object.entries(tokens)
    .map(([origin, { url: registry = origin, name, expiresAt, savedAt }]) => ({
      registry,
      isDefault: origin === chosen,
      ...defined({ name, expiresAt }),
      savedAt,
    }))
    .sort((a, b) => (a.registry < b.registry ? -1 : 1));
  const environment = defined({
    registry: configuredRegistry(io),
    tokenRegistry: environmentToken(io)?.origin,
  });
  await printData(io, output, { defaultRegistry: url, registries, environment }, async () => {
    const columns = [
      { header: 'DEFAULT' },
      { header: 'REGISTRY', min: 24 },
      { header: 'NAME', min: 8 },
      { header: 'EXPIRES' },
    ];
    await printTable(io, columns, registries, {
      terminal: ({ registry, isDefault, name = '-', expiresAt }) => [
        isDefault ? '*' : '',
        registry,
        name,
        relativeExpiry(expiresAt, io.now()),
      ],
      pipe: ({ registry, isDefault, name = '-', expiresAt = 'never' }) => [
        isDefault ? '*' : '-',
        registry,
        name,
        expiresAt,
      ],
    });
  });
  if (registries.length === 0) await printLine(io, 'no saved tokens; to add one, run: krmhub login URL');
  const given = environmentToken(io)?.origin;
  await printOverrides(io, { of: given === undefined ? undefined : new URL(given) });
}

/** Makes a registry with a saved token the one that commands use. */
export async function useRegistry(io: Io, url: string, output: OutputFormat): Promise<void> {
  const registry = parseRegistryUrl(url);
  if (!(await chooseDefault(io, registry))) {
    throw new KrmhubError('not-found', escapeControls(`no saved token for ${registry.origin}`), {
      hint: escapeControls(`Log in: krmhub login ${withoutSlash(registry)}`),
    });
  }
  await printLine(io, escapeControls(`commands use ${withoutSlash(registry)} by default`));
  await printOverrides(io, {});
  await printData(
    io,
    output,
    { registry: withoutSlash(registry), outcome: 'default' },
    async () => undefined,
  );
}

/**
 * Warns where environment variables take precedence over what `login` saved: KRMHUB_REGISTRY over the default, and
 * KRMHUB_TOKEN over the saved token of the registry `of`.
 */
export async function printOverrides(io: Io, { of }: { of?: URL | undefined }): Promise<void> {
  const configured = configuredRegistry(io);
  const saved = defaultRegistry(io);
  if (configured !== undefined && saved !== undefined && !isSame(configured, saved)) {
    await printWarning(
      io,
      escapeControls(`KRMHUB_REGISTRY is set: commands use ${configured}, not ${saved}`),
    );
  }
  const given = environmentToken(io);
  if (of !== undefined && given?.origin === of.origin) {
    await printWarning(io, `KRMHUB_TOKEN is set: commands use it for ${of.origin}, before a saved token`);
  }
  // The token belongs to the registry of a variable, whatever `login` made the default.
  if (
    given !== undefined &&
    configured === undefined &&
    saved !== undefined &&
    !isSame(saved, given.origin)
  ) {
    await printWarning(
      io,
      escapeControls(
        `KRMHUB_TOKEN is for ${given.origin}, not for ${saved}. If it is a token of that one, set KRMHUB_REGISTRY=${saved}`,
      ),
    );
  }
}

function isSame(one: string, other: string | undefined): boolean {
  return other !== undefined && parseUrl(one)?.origin === parseUrl(other)?.origin;
}
