import { defined } from '@krmhub/schema/defined';
import { createContext, useContext } from 'hono/jsx';
import type { PublicAddress } from '../http/public-address.js';
import type { Assets } from './assets.js';

/** What every page knows about its registry. */
export interface Site {
  /** Without a trailing slash; absent if the registry does not know its URL. */
  publicUrl?: string;
  /**
   * Returns the target of a link: adds the path of the public URL to a path such as `/functions`. Every link, form
   * and source of a page uses this.
   */
  at(path: string): string;
  /** Returns the same with scheme and host, for feeds; only the path if these are unknown. */
  whole(path: string): string;
  assets: Assets;
}

export function createSite({ publicUrl }: PublicAddress, assets: Assets): Site {
  const base = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
  return {
    ...defined({ publicUrl }),
    at: (path) => base + path,
    whole: (path) => (publicUrl ?? '') + path,
    assets,
  };
}

const Current = createContext<Site | undefined>(undefined);
export const SiteProvider = Current.Provider;

/** Returns the site of the page that is being rendered. */
export function useSite(): Site {
  const site = useContext(Current);
  if (site === undefined) throw new Error('A component was rendered outside a page.');
  return site;
}
