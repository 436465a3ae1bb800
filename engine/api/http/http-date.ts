/**
 * Formats and parses HTTP dates (RFC 9110 section 5.6.7) in whole seconds, by integer arithmetic on the civil calendar.
 * The platform's date object reads the machine's clock, which code behind the ports must not touch.
 */

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Sun, 06 Nov 1994 08:49:37 GMT` */
const imfFixdate =
  /^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>[\d:]{8}) GMT$/;
/** `Sunday, 06-Nov-94 08:49:37 GMT` */
const rfc850 =
  /^[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>[\d:]{8}) GMT$/;
/** `Sun Nov  6 08:49:37 1994` */
const asctime = /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>[\d:]{8}) (?<year>\d{4})$/;
const timeForm = /^(\d{2}):(\d{2}):(\d{2})$/;

const secondsPerDay = 86_400;

/** The instant as an IMF-fixdate. `ms`: milliseconds since the epoch, years 1970 to 9999. */
export function formatHttpDate(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const dayNumber = Math.floor(seconds / secondsPerDay);
  const { year, month, day } = civilFromDays(dayNumber);
  const inDay = seconds - dayNumber * secondsPerDay;
  const time = [Math.floor(inDay / 3600), Math.floor(inDay / 60) % 60, inDay % 60].map(twoDigits).join(':');
  const weekday = days[(dayNumber + 4) % 7] ?? '';
  return `${weekday}, ${twoDigits(day)} ${months[month - 1] ?? ''} ${String(year).padStart(4, '0')} ${time} GMT`;
}

/**
 * Seconds since the epoch of a date in any of HTTP's three forms. Undefined for anything else, since a recipient
 * ignores such a header. Two-digit years mean 1970 to 2069.
 */
export function parseHttpDate(text: string): number | undefined {
  const groups = (imfFixdate.exec(text) ?? rfc850.exec(text) ?? asctime.exec(text))?.groups;
  const time = timeForm.exec(groups?.['time'] ?? '');
  if (groups === undefined || time === null) return undefined;
  const month = months.indexOf(groups['month'] ?? '') + 1;
  const day = Number(groups['day']);
  const year = fullYear(groups['year'] ?? '');
  const [hour, minute, second] = time.slice(1).map(Number);
  if (hour === undefined || minute === undefined || second === undefined) return undefined;
  // The grammar allows a leap second.
  if (month === 0 || hour > 23 || minute > 59 || second > 60) return undefined;
  const dayNumber = daysFromCivil(year, month, day);
  const back = civilFromDays(dayNumber);
  if (back.month !== month || back.day !== day) return undefined;
  return dayNumber * secondsPerDay + hour * 3600 + minute * 60 + second;
}

function fullYear(text: string): number {
  const year = Number(text);
  if (text.length === 4) return year;
  return year < 70 ? 2000 + year : 1900 + year;
}

/** Days since 1970-01-01 of a proleptic Gregorian date. Years count from March, so that the leap day is last. */
function daysFromCivil(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function civilFromDays(dayNumber: number): { year: number; month: number; day: number } {
  const shifted = dayNumber + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const leapDays =
    Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
