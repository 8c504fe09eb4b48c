import { type Letter, namesWith } from './seen-names.js';
import { createToken, INSIDE, send, signIn, type WantedToken, type World } from './seen-world.js';

/** Who asks, and the letters that they may see, apart from what the access rules decide. */
export interface Viewer {
  name: string;
  headers: Record<string, string>;
  functions: readonly Letter[];
  catalogs: readonly Letter[];
  repositories: readonly Letter[];
  /** Its team, which answers may name. */
  team?: string;
  /** It has a session, which only pages read. */
  isSession?: boolean;
}

export const ADMINISTRATOR = 'an administrator';

const PUBLIC: readonly Letter[] = ['w'];
const INTERNAL: readonly Letter[] = ['w', 'x'];
const EVERYTHING: readonly Letter[] = ['w', 'x', 'y'];

type Sees = Pick<Viewer, 'functions' | 'catalogs' | 'repositories'>;

const sees = (functions: readonly Letter[], catalogs = functions, repositories = catalogs): Sees => ({
  functions,
  catalogs,
  repositories,
});

/** What a session sees where cookies are not read. */
export const WITHOUT_SESSION = sees(PUBLIC);

const Y = namesWith('y');
const OTHER_GROUP = ['other.example.com'];

/** Tokens that nothing bounds to less than they say. */
const TOKENS: readonly (readonly [name: string, token: Omit<WantedToken, 'name'>, sees: Sees])[] = [
  ['pusher', { scopes: ['push'], repositories: ['other/*'] }, sees(INTERNAL)],
  [
    'reader of another group',
    { scopes: ['read'], groups: OTHER_GROUP, repositories: ['other/*'] },
    sees(INTERNAL),
  ],
  [
    'reader of the group',
    { scopes: ['read'], groups: [Y.group], repositories: ['other/*'] },
    sees(EVERYTHING, INTERNAL),
  ],
  [
    'reader of the repository',
    { scopes: ['read'], groups: OTHER_GROUP, repositories: [Y.repository, `catalogs/*-${Y.word}`] },
    sees(INTERNAL, EVERYTHING),
  ],
  ['publisher of the group', { scopes: ['publish'], groups: [Y.group] }, sees(EVERYTHING, INTERNAL)],
  ['publisher of another group', { scopes: ['publish', 'yank'], groups: OTHER_GROUP }, sees(INTERNAL)],
  ['auditor', { scopes: ['audit'] }, sees(INTERNAL)],
  ['owners', { scopes: ['read', 'publish'], team: Y.team }, sees(EVERYTHING, INTERNAL)],
  ['owners elsewhere', { scopes: ['read'], team: Y.team, groups: OTHER_GROUP }, sees(INTERNAL)],
  ['granted', { scopes: ['read'], team: 'granted' }, sees(EVERYTHING)],
  ['yanker of others', { scopes: ['yank'], team: 'others' }, sees(INTERNAL)],
  ['others', { scopes: ['read', 'publish', 'yank', 'push'], team: 'others' }, sees(INTERNAL)],
];

/** Makes the tokens that look at a registry; `expired` is one. */
export async function fillViewers(world: World, expired: string): Promise<Viewer[]> {
  const bearer = (secret: string) => ({ Authorization: `Bearer ${secret}` });
  const made = await send(
    world,
    'POST',
    '/api/v1/tokens',
    { name: 'gone', scopes: ['admin'] },
    'application/json',
  );
  const gone = (await made.json()) as { id: string; token: string };
  await send(world, 'DELETE', `/api/v1/tokens/${gone.id}`);
  const viewers: Viewer[] = [
    { name: 'nobody', headers: {}, ...sees(PUBLIC) },
    { name: 'a wrong token', headers: bearer('krmhub_wrong'), ...sees(PUBLIC) },
    { name: 'a revoked administrator', headers: bearer(gone.token), ...sees(PUBLIC) },
    { name: 'an expired administrator', headers: bearer(expired), ...sees(PUBLIC) },
    { name: 'an insider', headers: INSIDE, ...sees(INTERNAL) },
    { name: 'an insider whose token expired', headers: { ...INSIDE, ...bearer(expired) }, ...sees(INTERNAL) },
    { name: 'a neighbor', headers: { 'X-Forwarded-For': '10.10.0.5' }, ...sees(PUBLIC) },
    { name: ADMINISTRATOR, headers: { Authorization: world.admin }, ...sees(EVERYTHING) },
  ];
  for (const [name, wanted, seen] of TOKENS) {
    const secret = await createToken(world, { name, ...wanted });
    const team = wanted.team === undefined ? {} : { team: wanted.team };
    viewers.push({ name, headers: bearer(secret), ...seen, ...team });
    if (name !== 'granted' && name !== 'others') continue;
    const { cookie } = await signIn(world, secret);
    const headers = { Cookie: cookie, Accept: 'text/html' };
    viewers.push({ name: `a session of ${name}`, headers, ...seen, isSession: true });
    const basic = Buffer.from(`me:${secret}`).toString('base64');
    viewers.push({ name: `${name}, as Basic`, headers: { Authorization: `Basic ${basic}` }, ...seen });
  }
  return viewers;
}
