import {
  COLLECTION_STYLE,
  CORE_SCHEMA,
  constructFromEvents,
  EVENT_ID,
  parseEvents,
  SCALAR_STYLE,
  YAMLException,
} from 'js-yaml';
