import type { Action } from '@krmhub/catalog';
import { isSessionToken } from '../../http/auth/user-session.js';
import {
  AUDIT,
  EVENTS,
  OPERATE,
  OPERATE_ACCESS,
  OPERATE_POLICIES,
  OPERATE_PUBLISHERS,
  RECIPES,
  RELEASES,
  sourcesPath,
  TOKENS,
  USERS,
} from '../addresses.js';
import { CHANGES, mayOpen, type Operator } from './operator.js';

/** A page that the bar and the overview link to. */
interface Tab {
  name: string;
  path: string;
  /** Absent for the overview itself. */
  about?: string;
  /** The right for the whole registry that the page needs. */
  needs?: Action;
}

const TABS: readonly Tab[] = [
  { name: 'Overview', path: OPERATE },
  {
    name: 'Sources',
    path: sourcesPath(),
    about: 'The upstream catalogs of all recipes: see their status, and sync them.',
  },
  { name: 'Recipes', path: RECIPES, about: 'The recipe of each catalog: read, check, and apply it.' },
  { name: 'Releases', path: RELEASES, about: 'Yank, deprecate, or take down a release.' },
  {
    name: 'Policies',
    path: OPERATE_POLICIES,
    about: 'The signers that the registry trusts: read, check, and apply them.',
  },
  {
    name: 'Access',
    path: OPERATE_ACCESS,
    about: 'Who may see and do what: read, check, and apply it.',
    needs: CHANGES,
  },
  {
    name: 'Users',
    path: USERS,
    about: 'Who signed in with an identity provider: see their teams, and suspend them.',
    needs: CHANGES,
  },
  {
    name: 'Tokens',
    path: TOKENS,
    about: 'The tokens that can publish, yank, push, and administer: create and revoke them.',
    needs: CHANGES,
  },
  {
    name: 'Publishers',
    path: OPERATE_PUBLISHERS,
    about: 'CI workflows that publish without a stored secret: add and remove them.',
  },
  { name: 'Events', path: EVENTS, about: 'What happened, when, and by which token.' },
  {
    name: 'Audit',
    path: AUDIT,
    about: 'Who changed what and from where, also what the registry refused.',
    needs: 'audit',
  },
];

/** Returns the pages that an operator may open. Users see their own tokens. */
export function openTabs(operator: Operator): readonly Tab[] {
  const { rules, token } = operator;
  return TABS.filter(({ path, needs }) => {
    if (path === TOKENS && isSessionToken(token)) return true;
    // It shows all policies, also those of groups that the operator may not read.
    const needed = path === OPERATE_POLICIES && rules.hidesAnything ? CHANGES : needs;
    return needed === undefined || mayOpen(operator, needed);
  });
}
