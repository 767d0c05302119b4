/** The forms in which a module, a table and an operation write the name of one kind of record. */
export type Names = {
  /** `meeting-notes`: folder and path. */
  kebab: string;
  /** `meetingNotes` */
  camels: string;
  /** `meeting_notes`: table. */
  snakes: string;
  /** `meetingNote` */
  camel: string;
  /** `MeetingNote` */
  pascal: string;
  /** `MeetingNotes`: names of operations on many. */
  plural: string;
  /** `meeting_note`: audit actions. */
  snake: string;
  /** `meeting note`: sentences. */
  words: string;
};

/** @param kebab plural, such as `meeting-notes` */
export function namesOf(kebab: string): Names {
  const snakes = kebab.replaceAll('-', '_');
  const snake = singular(snakes);
  const camel = toCamel(snake);
  return {
    kebab,
    snakes,
    snake,
    camel,
    camels: toCamel(snakes),
    pascal: capital(camel),
    plural: capital(toCamel(snakes)),
    words: snake.replaceAll('_', ' '),
  };
}

export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** `archiveNote` as `archive-note`. */
export function toKebab(camel: string): string {
  return camel.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export function past(verb: string): string {
  return `${verb}${verb.endsWith('e') ? 'd' : 'ed'}`;
}

function singular(plural: string): string {
  if (plural.endsWith('ies')) return `${plural.slice(0, -3)}y`;
  return plural.endsWith('s') ? plural.slice(0, -1) : plural;
}

function toCamel(snake: string): string {
  return snake.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());
}
