/** What can happen in a registry, with its words on pages. Its event log and its API use the same names. */
export const EVENTS = {
  'release.published': 'published',
  'release.yanked': 'yanked',
  'release.unyanked': 'no longer yanked',
  'release.deprecated': 'deprecated',
  'release.undeprecated': 'no longer deprecated',
  'release.attested': 'attestation added',
  'release.taken-down': 'taken down',
  'catalog.applied': 'recipe applied',
  'catalog.cut': 'snapshot built',
  'catalog.withdrawn': 'snapshot withdrawn',
  'catalog.deleted': 'catalog deleted',
  'catalog.restored': 'catalog restored',
  'policy.applied': 'policies applied',
  'access.applied': 'access applied',
  'source.changed': 'source changed',
  'source.failing': 'source failing',
  'source.recovered': 'source recovered',
  'source.matured': 'minimum age reached',
} as const;

export type EventType = keyof typeof EVENTS;
export const EVENT_TYPES = Object.keys(EVENTS) as [EventType, ...EventType[]];
