import type { Path, PathSegment } from '../diagnostics/diagnostic.js';
import { type JsonObject, type JsonValue, RUNTIME_KINDS, type RuntimeKind } from '../documents/definition.js';
import { pinScript, readScriptReference } from '../images/script-reference.js';
import { isObject } from '../json/access.js';
import type { DialectCode } from './codes.js';
import type { Corrections, Origins } from './corrections.js';

/** Corrects one runtime. `at` is its path in the normal form. Modifies the object. */
export class RuntimeReader {
  private readonly corrections: Corrections;
  private readonly origins: Origins;

  constructor(corrections: Corrections, origins: Origins) {
    this.corrections = corrections;
    this.origins = origins;
  }

  /** The runtimes that other dialects write otherwise. */
  private readonly readers: Partial<Record<RuntimeKind, (value: JsonValue, at: Path) => JsonValue>> = {
    container: (value, at) => (isObject(value) ? this.readContainer({ ...value }, at) : value),
    exec: (value, at) => this.readExec(value, at),
    starlark: (value, at) => (isObject(value) ? this.readStarlark(value, at) : value),
  };

  read(runtime: JsonObject, at: Path): JsonObject {
    const result = { ...runtime };
    for (const kind of RUNTIME_KINDS) {
      const value = Object.hasOwn(result, kind) ? result[kind] : undefined;
      if (value !== undefined) result[kind] = this.readers[kind]?.(value, [...at, kind]) ?? value;
    }
    return result;
  }

  private readContainer(container: JsonObject, at: Path): JsonObject {
    const filesystem = container.requireFilesystem;
    if (filesystem !== undefined) {
      this.rename(container, 'requireFilesystem', 'requireStorageMount', at, 'dialect/storage-mount');
    }
    if (container.network !== undefined && container.requireNetwork === undefined) {
      const network = container.network;
      const required = isObject(network) ? network.required : network;
      if (typeof required === 'boolean') {
        this.rename(container, 'network', 'requireNetwork', at, 'dialect/network');
        container.requireNetwork = required;
      }
    }
    this.readMounts(container, at);
    for (const name of ['env', 'envs']) {
      if (container[name] === undefined) continue;
      this.report('dialect/dropped-field', `${name} is omitted: a definition has no environment variables`, [
        ...at,
        name,
      ]);
      delete container[name];
    }
    if (typeof container.digest === 'string')
      this.rename(container, 'digest', 'sha256', at, 'dialect/digest');
    this.readDigest(container, at);
    return container;
  }

  /** kustomize lists the mounts. A definition only requires mounts. */
  private readMounts(container: JsonObject, at: Path): void {
    const { mounts } = container;
    if (!Array.isArray(mounts)) return;
    if (mounts.length > 0 && container.requireStorageMount === undefined) {
      this.rename(container, 'mounts', 'requireStorageMount', at, 'dialect/storage-mount');
      container.requireStorageMount = true;
    } else {
      this.report('dialect/dropped-field', 'mounts is omitted: a definition has no mounts', [
        ...at,
        'mounts',
      ]);
      delete container.mounts;
    }
  }

  private readExec(written: JsonValue, at: Path): JsonValue {
    if (Array.isArray(written)) {
      const path = [...at, 'platforms'];
      this.report('dialect/platforms', 'exec is a list; it is read as exec.platforms', at);
      this.origins.move(path, this.origins.authored(at));
      return { platforms: this.readPlatforms(written, path) };
    }
    if (!isObject(written)) return written;
    const exec = { ...written };
    const { platform, platforms } = exec;
    if (platform !== undefined && JSON.stringify(platform) === JSON.stringify(platforms)) {
      const message = 'platform is ignored: it repeats platforms, as the schema of the KEP requires';
      this.report('dialect/platforms', message, [...at, 'platform']);
      delete exec.platform;
    } else if (platform !== undefined) {
      this.rename(exec, 'platform', 'platforms', at, 'dialect/platforms');
    }
    if (isObject(exec.platforms)) {
      const authored = this.origins.authored([...at, 'platforms']);
      this.report('dialect/platforms', 'a single platform is read as a list with one item', [
        ...at,
        'platforms',
      ]);
      this.origins.move([...at, 'platforms', 0], authored);
      exec.platforms = [exec.platforms];
    }
    if (Array.isArray(exec.platforms)) {
      exec.platforms = this.readPlatforms(exec.platforms, [...at, 'platforms']);
    }
    return exec;
  }

  private readPlatforms(platforms: readonly JsonValue[], at: Path): JsonValue[] {
    return platforms.map((platform, index) => {
      if (!isObject(platform)) return platform;
      const result = { ...platform };
      const path = [...at, index];
      if (typeof result.path === 'string') this.rename(result, 'path', 'bin', path, 'dialect/exec-path');
      this.readDigest(result, path);
      return result;
    });
  }

  /** Reads a mapping with one reference under any known name. */
  private readStarlark(starlark: JsonObject, at: Path): JsonValue {
    const name = ['url', 'uri', 'image', 'path'].find((key) => typeof starlark[key] === 'string');
    if (name === undefined) return starlark;
    this.report('dialect/starlark', `starlark.${name} is read as the reference itself`, [...at, name]);
    const reference = starlark[name] as string;
    const digest = this.scriptDigest(starlark, reference);
    for (const other of Object.keys(starlark)) {
      if (other === name || (digest !== undefined && other === 'sha256')) continue;
      this.report('dialect/dropped-field', `a Starlark runtime does not have the field ${other}`, [
        ...at,
        other,
      ]);
    }
    this.origins.move(at, this.origins.authored([...at, name]));
    return digest === undefined ? reference : pinScript(reference, digest);
  }

  /** Returns the digest that belongs into the reference; undefined if it has one, or if this one is not valid. */
  private scriptDigest(starlark: JsonObject, reference: string): string | undefined {
    const { sha256 } = starlark;
    if (typeof sha256 !== 'string' || readScriptReference(reference).digest !== undefined) return undefined;
    const digest = sha256.replace(/^sha256:/i, '').toLowerCase();
    return /^[0-9a-f]{64}$/.test(digest) && !reference.includes('#') ? digest : undefined;
  }

  private readDigest(holder: JsonObject, at: Path): void {
    const written = holder.sha256;
    if (typeof written !== 'string') return;
    const digest = written.replace(/^sha256:/i, '');
    // Lint reports other values.
    if (!/^[0-9a-f]{64}$/i.test(digest) || written === digest.toLowerCase()) return;
    holder.sha256 = digest.toLowerCase();
    const what = digest === written ? 'has upper-case letters' : 'has the prefix sha256:';
    this.report('dialect/digest', `the digest ${what}`, [...at, 'sha256'], 'value');
  }

  /** Does not rename the field if the new name exists. Lint then reports the field as unknown. */
  private rename(holder: JsonObject, from: string, to: string, at: Path, code: DialectCode): void {
    if (holder[to] !== undefined) return;
    this.report(code, `${from} is read as ${to}`, [...at, from]);
    this.origins.move([...at, to], this.origins.authored([...at, from]));
    holder[to] = holder[from]!;
    delete holder[from];
  }

  private report(code: DialectCode, message: string, at: readonly PathSegment[], target?: 'value'): void {
    this.corrections.report(code, message, this.origins.authored(at), target);
  }
}
