import type { LockedFunctions } from '@krmhub/catalog';
import { RELEASE_ANNOTATION } from '@krmhub/catalog/settings/settings';
import type { Environment } from '@krmhub/consume/ports';
import type { CatalogReference } from '@krmhub/consume/references/parse-catalog';
import { imageAt, imageWithTag, requiredDigest } from '@krmhub/consume/resolve/images/named-image';
import type { ListedKind, Resolution, Resolver } from '@krmhub/consume/resolve/resolution';
import { ENGINE_NAMES, type EngineName } from '@krmhub/functions/containers/container-run';
import type { Resource } from '@krmhub/functions/fn';
import { fullImage, stepImage } from '@krmhub/functions/plan';
import type { InlineScript } from '@krmhub/functions/plan/declared-runtime';
import { defined } from '@krmhub/schema/defined';
import type { Digest } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { fullRepository } from '@krmhub/schema/image-reference';
import { escapeControls, shellWord } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { checkResolved } from '../lock/config-check.js';
import { displayPath } from '../lock/display-path.js';
import { type LockCommandOptions, lockCommand, packageFolder } from '../lock/lock-file.js';
import { consumePorts } from '../registry/consume-ports.js';
import { Runner } from '../run/runner.js';
import { type CatalogFunction, catalogFunction } from './catalog-function.js';
import { commandLineFunction, type ExecFunction } from './exec-function.js';
import type { Progress } from './progress.js';
import type { Runnable } from './runnable.js';
import type { FnSettings } from './settings.js';

/** A function that is named by the type of its functionConfig. */
export interface NamedType {
  /** `GROUP/VERSION`. */
  apiVersion: string;
  kind: string;
  /** Catalogs that the package names; those of the options come before. */
  catalogs: readonly CatalogReference[];
  /** The range of releases that its functionConfig names. */
  range?: string | undefined;
}

/** Returns the range of releases that a functionConfig names. */
export function writtenRange({ identity }: Resource): string | undefined {
  return identity.annotations[RELEASE_ANNOTATION];
}

/** An image that a step, a functionConfig, or the command line names. */
export interface NamedImage {
  image: string;
  /** A tag, or a constraint on the tags, in place of that of the image. */
  tag?: string | undefined;
  /** Where an image without a registry is. Default: that of the options, else that of kpt. */
  prefix?: string;
  /** It is shown without the tag `latest`. */
  asWritten?: boolean;
  /** Catalogs of the Kptfile, whose registries know what was taken down. */
  catalogs?: readonly string[];
}

/**
 * Makes the functions of a command ready to run: images and executables that are named, and functions of catalogs, by
 * lock and trust. What it reads of catalogs and fetches, it reads and fetches once.
 */
export class Functions {
  readonly #io: Io;
  readonly #settings: FnSettings;
  readonly #progress: Progress;
  readonly #runner: Runner;
  /** Folder of the package, which can have a lock file. */
  readonly #folder: string;
  #lock: Promise<LockedFunctions | undefined> | undefined;
  #resolver: Promise<Resolver> | undefined;
  #kinds: Promise<ListedKind[]> | undefined;
  readonly #warned = new Set<string>();

  constructor(io: Io, settings: FnSettings, folder: string, progress: Progress, signal: AbortSignal) {
    this.#io = io;
    this.#settings = settings;
    this.#folder = folder;
    this.#progress = progress;
    this.#runner = new Runner(io, settings.permissions, {
      offline: settings.resolution.offline,
      signal,
      acceptDocuments: 'all',
      measuresMemory: settings.hasStats,
      preferredEngine: () => kptEngine(io),
      ...defined({ onRun: settings.onRun }),
    });
  }

  /**
   * An image that the user or a Kptfile names, with the digest of the lock file if that has it. `more` is what a
   * declaration asks for and the user allowed. Throws `not-found` or `untrusted` for one without a digest, if there has
   * to be one.
   */
  async image(
    { prefix: own, asWritten = false, catalogs = [], ...step }: NamedImage,
    more: { network?: boolean; mounts?: readonly string[]; env?: readonly string[] } = {},
  ): Promise<Runnable> {
    const { permissions, images, requireDigest, resolution } = this.#settings;
    const { network, mounts } = permissions;
    const prefix = own ?? images.prefix;
    const named = await stepImage(step, prefix);
    const command = lockCommand(this.#io, this.#lockOptions);
    const digest = requiredDigest(named.text, await this.#openLock(), requireDigest, command);
    let name = named.text;
    if (asWritten) name = fullImage(step.image, prefix);
    else if (digest?.tag !== undefined) name = imageWithTag(named.text, digest.tag);
    else if (!('reference' in named) && digest === undefined) {
      const { newestImage } = await import('@krmhub/consume/resolve/images/newest-image');
      name = await newestImage(consumePorts(this.#io), named, resolution);
    }
    const image = digest === undefined ? name : imageAt(named.text, digest.digest);
    if (digest !== undefined) await this.#requireStanding(image, digest.digest, catalogs);
    const onExact = (exact: string) => {
      if (exact !== name) this.#progress.print(`  Image: ${escapeControls(exact)}`);
    };
    const run = this.#runner.image({ ...images, network, mounts, ...more, image, onExact });
    return { name, recorded: { image: name }, run };
  }

  /** Throws `gone` for an image of which a known registry took down all releases. */
  async #requireStanding(image: string, sha256: Digest, catalogs: readonly string[]): Promise<void> {
    const { frozen, resolution } = this.#settings;
    if (frozen || resolution.offline) return;
    const { knownRegistries, refuseTakenDown, withTakedowns } = await import(
      '@krmhub/consume/trust/takedowns'
    );
    const named = [resolution.official ?? [], resolution.catalogs, catalogs].flat();
    const registries = await knownRegistries(this.#io, named);
    await withTakedowns(consumePorts(this.#io), (cache) =>
      refuseTakenDown(consumePorts(this.#io), cache, image, { codes: [{ sha256 }], registries }),
    );
  }

  /**
   * Compares an image by digest with the locked function of its functionConfig, which `krmhub kpt sync` writes to the
   * Kptfile. Warns if both are states of one image; throws `untrusted` for that if the lock is frozen.
   */
  async checkSynced(
    image: string,
    { apiVersion, kind }: Pick<NamedType, 'apiVersion' | 'kind'>,
  ): Promise<void> {
    const lock = await this.#openLock();
    const locked = lock?.find(lock.searchOrder(apiVersion, kind), apiVersion, kind)?.runtime;
    if (locked?.type !== 'container' || !image.includes('@')) return;
    if (fullRepository(image) !== fullRepository(locked.image)) return;
    if (image.endsWith(locked.image.slice(locked.image.indexOf('@')))) return;
    const message = `the Kptfile runs ${image}, but the lock file has ${locked.image}`;
    const command = `krmhub kpt sync ${shellWord(displayPath(this.#io, this.#folder))}`;
    if (lock?.frozen === true)
      throw new KrmhubError('untrusted', escapeControls(message), {
        hint: escapeControls(`Update the Kptfile: ${command}`),
      });
    this.#warn(`${message}; update it with \`${command}\``);
  }

  /** An executable that the user named, or that a package names and the user allowed. */
  exec(fn: string | ExecFunction): Runnable {
    const named = typeof fn === 'string' ? commandLineFunction(this.#io, fn) : fn;
    return { name: named.name, recorded: { exec: named.name }, run: this.#runner.exec(named) };
  }

  /** A script that a functionConfig declares, relative to its folder. */
  script(runtime: InlineScript, name: string, folder: string): Runnable {
    return { name, recorded: { function: name }, run: this.#runner.script(runtime, folder) };
  }

  /**
   * A function of a catalog. It is resolved, verified, and fetched here, before the first function runs, and before that
   * `written` is checked, a functionConfig that no other function can change. Throws `not-found`, `invalid-document`, and
   * `untrusted` with the option that would allow it.
   */
  async ofType(
    { apiVersion, kind, catalogs, range }: NamedType,
    folder: string,
    written?: { functionConfig: string; file?: string | undefined },
  ): Promise<CatalogFunction> {
    const resolver = await this.#openResolver();
    const lock = await this.#openLock();
    const locked = catalogs.length === 0 ? (lock?.searchOrder(apiVersion, kind) ?? []) : catalogs;
    const resolution = await resolver.resolve({ apiVersion, kind, catalogs: locked, ...defined({ range }) });
    for (const warning of resolution.warnings) this.#warn(`${apiVersion} ${kind}: ${warning}`);
    if (written !== undefined) await this.#checkConfig(resolution, written);
    const prepared = await this.#runner.entry(resolution);
    for (const note of prepared.notes) this.#warn(`${apiVersion} ${kind}: ${note}`);
    return catalogFunction(resolution, prepared, {
      folder,
      checkConfig: (functionConfig, file) => this.#checkConfig(resolution, { functionConfig, file }),
    });
  }

  /** Whether a catalog of the options, or the lock file, has functions of this type. */
  async hasType(apiVersion: string, kind: string): Promise<boolean> {
    const lock = await this.#openLock();
    if ((lock?.searchOrder(apiVersion, kind) ?? []).length > 0) return true;
    return (await this.listTypes()).some((one) => one.apiVersion === apiVersion && one.kind === kind);
  }

  /** Lists the types of the catalogs of the options, each once. Throws as `ofType` for what is not trusted. */
  async listTypes(): Promise<readonly ListedKind[]> {
    if (!this.hasCatalogs) return [];
    this.#kinds ??= this.#openResolver().then((resolver) => resolver.list());
    return await this.#kinds;
  }

  /** Whether the command line names a catalog. */
  get hasCatalogs(): boolean {
    const { catalogs, official } = this.#settings.resolution;
    return catalogs.length > 0 || official !== undefined;
  }

  async close(): Promise<void> {
    await this.#runner.close();
    await (await this.#resolver?.catch(() => undefined))?.close();
  }

  #openLock(): Promise<LockedFunctions | undefined> {
    const { frozen, plannedLock: planned } = this.#settings;
    this.#lock ??= import('../lock/open-lock.js').then(({ openLock }) =>
      openLock(this.#io, { ...this.#lockOptions, frozen, planned }),
    );
    return this.#lock;
  }

  get #lockOptions(): LockCommandOptions {
    const { lock, images } = this.#settings;
    return { folder: this.#folder, lock, imagePrefix: images.prefix };
  }

  #openResolver(): Promise<Resolver> {
    const open = async () => {
      const { openResolver } = await import('@krmhub/consume/resolve/open-resolver');
      const { packageSettings } = await import('../lock/open-lock.js');
      const lock = await this.#openLock();
      return openResolver(consumePorts(this.#io), {
        ...this.#settings.resolution,
        ...(await packageSettings(this.#io, await packageFolder(this.#io, this.#folder))),
        ...defined({ lock }),
      });
    };
    this.#resolver ??= open();
    return this.#resolver;
  }

  async #checkConfig(
    resolution: Resolution,
    { functionConfig, file }: { functionConfig: string | undefined; file?: string | undefined },
  ): Promise<void> {
    const { apiVersion, kind } = resolution;
    const { writtenConfig } = await import('./written-config.js');
    const config = await writtenConfig(this.#io, functionConfig, file);
    const unchecked = await checkResolved(resolution, { apiVersion, kind, ...config });
    if (unchecked !== undefined) this.#warn(unchecked);
  }

  #warn(text: string): void {
    if (this.#warned.has(text)) return;
    this.#warned.add(text);
    this.#progress.print(`warning: ${escapeControls(text)}`);
  }
}

/** The engine that kpt would use. */
function kptEngine({ env }: Environment): EngineName | undefined {
  const { KPT_FN_RUNTIME: name } = env;
  if (name === undefined || name === '') return undefined;
  const engine = ENGINE_NAMES.find((known) => known === name);
  if (engine !== undefined) return engine;
  throw new KrmhubError('usage', `unsupported runtime ${name} in KPT_FN_RUNTIME`, {
    hint: `Use one of ${ENGINE_NAMES.join(', ')}.`,
  });
}
