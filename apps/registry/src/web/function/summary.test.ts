import { describe, expect, it } from 'vitest';
import { permissions } from './summary.js';

const IMAGE = { image: 'registry.example.com/one:v1' };

describe('permissions', () => {
  it.each([
    [{ container: IMAGE }, 'only its input', 'plain'],
    [{ starlark: 'script.star' }, 'only its input', 'plain'],
    [{ container: { ...IMAGE, requireNetwork: false } }, 'only its input', 'plain'],
    [{ container: { ...IMAGE, requireNetwork: true } }, 'the network', 'warning'],
    [{ container: { ...IMAGE, requireStorageMount: true } }, 'folders that you mount', 'warning'],
    [
      { container: { ...IMAGE, requireNetwork: true, requireStorageMount: true } },
      'the network and folders that you mount',
      'warning',
    ],
    [{ exec: { platforms: [] } }, 'everything your user can access', 'warning'],
    [{ container: IMAGE, exec: { platforms: [] } }, 'everything your user can access', 'warning'],
  ])('names the widest access of any runtime in %j', (runtime, words, tone) => {
    expect(permissions({ runtime } as Parameters<typeof permissions>[0])).toEqual({ words, tone });
  });
});
