import type { Texts } from '#modules/notifications/notifications.types';

type Written = { texts: Texts; link: string | null };

/** The absolute form of a link; a path leads to a page of the product. */
export function absoluteLink(link: string | null, publicUrl: string): string | null {
  return link?.startsWith('/') === true ? `${publicUrl}${link}` : link;
}

/** Maximum length of an SMS: two parts in the basic character set. */
const smsCharacters = 300;
const chatCharacters = 1000;
const subjectCharacters = 200;

/** Title and link, as short as possible. */
export function smsText({ texts, link }: Written): string {
  const end = link === null || link.length > smsCharacters / 2 ? '' : `\n${link}`;
  return `${cut(oneLine(texts.title), smsCharacters - end.length)}${end}`;
}

/** Title, the part of the body that fits, and link. */
export function chatText({ texts, link }: Written): string {
  const end = link === null || link.length > chatCharacters / 2 ? '' : `\n\n${link}`;
  const start = cut(oneLine(texts.title), smsCharacters);
  const room = chatCharacters - start.length - end.length - 2;
  const body = cut(plain(texts.body), room);
  return `${start}${body === '' ? '' : `\n\n${body}`}${end}`;
}

type Letter = Written & {
  category: string;
  /** Locale of the recipient as a BCP 47 tag. */
  locale: string;
  /** Empty if the mail must not name the tenant. */
  tenantName: string;
  /** Page on which the recipient changes preferences. */
  settingsUrl: string;
};

/** A mail with its reason and a link to the preferences. */
export function mailOf({ texts, link, ...letter }: Letter): { subject: string; text: string } {
  const subject = cut(oneLine(texts.title), subjectCharacters);
  const parts = [oneLine(texts.title), plain(texts.body), link ?? '', `-- \n${footerOf(letter)}`];
  return { subject, text: `${parts.filter((part) => part !== '').join('\n\n')}\n` };
}

/** Texts for mails that must not name the tenant. */
const unnamed: Readonly<Record<string, string>> = {
  en: 'your organisation',
  de: 'Ihrer Organisation',
  fr: 'votre organisation',
  es: 'su organización',
  it: 'una organizzazione',
};

const footers: Readonly<Record<string, (tenantName: string, category: string) => string>> = {
  en: (tenant, category) =>
    `You get this mail because you are a member of ${tenant} and are told about ${category} by mail. What you are told about, and how, you change here:`,
  de: (tenant, category) =>
    `Sie erhalten diese E-Mail, weil Sie zu ${tenant} gehören und über ${category} per E-Mail benachrichtigt werden. Worüber und wie Sie benachrichtigt werden, ändern Sie hier:`,
  fr: (tenant, category) =>
    `Vous recevez cet e-mail parce que vous êtes membre de ${tenant} et que vous êtes informé par e-mail au sujet de ${category}. Vous pouvez modifier vos notifications ici :`,
  es: (tenant, category) =>
    `Recibe este correo porque es miembro de ${tenant} y se le informa por correo sobre ${category}. Puede cambiar sus notificaciones aquí:`,
  it: (tenant, category) =>
    `Riceve questa e-mail perché è membro di ${tenant} e viene informato via e-mail su ${category}. Può modificare le sue notifiche qui:`,
};

function footerOf({ category, locale, settingsUrl, tenantName }: Omit<Letter, 'texts' | 'link'>): string {
  const wanted = locale.split(/[-_]/)[0]!.toLowerCase();
  const language = Object.hasOwn(footers, wanted) ? wanted : 'en';
  const tenant = oneLine(tenantName) || unnamed[language]!;
  return `${footers[language]!(tenant, oneLine(category))}\n${settingsUrl}`;
}

/** Removes characters that could start a header or a new line. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

/** Removes control characters except line breaks and tabs. */
export function plain(text: string): string {
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/(?![\n\t])\p{Cc}/gu, '')
    .trim();
}

const ellipsis = '...';
const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The beginning of a text, cut between two grapheme clusters. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const segments = segmenter.segment(text);
  const end = segments.containing(Math.max(0, max - ellipsis.length))?.index ?? 0;
  return `${text.slice(0, end).trimEnd()}${ellipsis}`;
}
