/** What can happen in a registry. Its event log and its API use the same names. */
export const EVENT_TYPES = [
  'release.published',
  'release.yanked',
  'release.unyanked',
  'release.deprecated',
  'release.undeprecated',
  'release.attested',
  'release.taken-down',
  'catalog.applied',
  'catalog.cut',
  'catalog.withdrawn',
  'catalog.deleted',
  'catalog.restored',
  'policy.applied',
  'access.applied',
  'source.changed',
  'source.failing',
  'source.recovered',
  'source.matured',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];
