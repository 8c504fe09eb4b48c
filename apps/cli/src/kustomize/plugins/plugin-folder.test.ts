import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { findPluginFolder, pluginFile } from './plugin-folder.js';

const root = mkdtempSync(path.join(tmpdir(), 'krmhub-plugin-folder-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('the folder of plugins', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(path.join(root, 'home-'));
  });
  const find = (env: Record<string, string> = {}, given?: string) =>
    findPluginFolder({ env: { HOME: home, ...env }, cwd: root }, given);

  it('is the first that kustomize would find', async () => {
    const configuration = path.join(home, 'configuration');
    const env = { XDG_CONFIG_HOME: configuration };
    expect(await find()).toBe(path.join(home, '.config/kustomize/plugin'));
    expect(await find(env)).toBe(path.join(configuration, 'kustomize/plugin'));
    // A new folder in XDG_CONFIG_HOME would hide the plugins in this one.
    mkdirSync(path.join(home, 'kustomize/plugin'), { recursive: true });
    expect(await find(env)).toBe(path.join(home, 'kustomize/plugin'));
    mkdirSync(path.join(home, '.config/kustomize/plugin'), { recursive: true });
    expect(await find(env)).toBe(path.join(home, '.config/kustomize/plugin'));
    expect(await find({ XDG_CONFIG_HOME: 'relative' })).toBe(path.join(home, '.config/kustomize/plugin'));
  });

  it('is the one that the user names', async () => {
    expect(await find({ KUSTOMIZE_PLUGIN_HOME: path.join(home, 'own') })).toBe(path.join(home, 'own'));
    expect(await find({ KUSTOMIZE_PLUGIN_HOME: path.join(home, 'own') }, 'plugins')).toBe(
      path.join(root, 'plugins'),
    );
  });
});

describe('the file of a plugin', () => {
  it('is where kustomize looks for the kind', () => {
    expect(pluginFile('/p', { apiVersion: 'team.example.com/v1beta1', kind: 'CommonApp' })).toBe(
      '/p/team.example.com/v1beta1/commonapp/CommonApp',
    );
  });

  it.each([
    ['v1', 'Service'],
    ['../../etc/v1', 'Cron'],
    ['example.com/..', 'Cron'],
    ['example.com/v1', '../Cron'],
    ['example.com/v1/v2', 'Cron'],
    ['example.com/v1', 'a b'],
  ])('is refused for %s %s', (apiVersion, kind) => {
    expect(() => pluginFile('/p', { apiVersion, kind })).toThrow('is not a plugin name');
  });
});
