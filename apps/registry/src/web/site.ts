import { createContext, useContext } from 'hono/jsx';
import type { PublicAddress } from '../http/public-address.js';
import type { Assets } from './assets.js';

/** What every page knows of the registry that it is a page of. */
export interface Site {
  /** Without a slash at the end; absent where the registry does not know how it is reached. */
  publicUrl?: string;
  /**
   * The target of a link: a path of ours, such as `/functions`, below the path of the public URL. Every link, form and
   * source of a page is made by this.
   */
  at(path: string): string;
  /** The same with scheme and host, for feeds; a path alone where these are not known. */
  whole(path: string): string;
  assets: Assets;
}

export function createSite({ publicUrl }: PublicAddress, assets: Assets): Site {
  const base = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
  return {
    ...(publicUrl === undefined ? {} : { publicUrl }),
    at: (path) => base + path,
    whole: (path) => (publicUrl ?? '') + path,
    assets,
  };
}

const Current = createContext<Site | undefined>(undefined);
export const SiteProvider = Current.Provider;

/** The site of the page that is being rendered. */
export function useSite(): Site {
  const site = useContext(Current);
  if (site === undefined) throw new Error('A component was rendered outside of a page.');
  return site;
}
