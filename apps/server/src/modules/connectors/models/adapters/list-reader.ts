import { readOneAnswer } from '#core/platform/outbound/reading-worker';
import { readList } from '#modules/connectors/models/adapters/adapters';

readOneAnswer(readList);
