package page

// texts are the words of the report page in one language.
type texts struct {
	Lang, Title, Lead, Emergency                                                    string
	Kind                                                                            string
	Kinds                                                                           []choice
	Severity, SeverityOfInjury, SeverityEither                                      string
	Levels                                                                          []choice
	Where, WherePlace, WhereHelp, WhereSaid                                         string
	Last, What, WhatHelp, When, WhenHelp, Photo, PhotoHelp, Name, NameHelp          string
	Trap, Send, Sending, Step, Next, Back, NoPhoto, YourPhoto, NotNow               string
	Thanks, Reference, Keep, Another                                                string
	Code, CodeHelp, CodeKept, HaveCode, Follow, FollowTitle, NoReport, TooManyTries string
	Open, Done, Add, AddHelp, AddSend, Added, ToReport, Handled                     string
	States                                                                          map[string]string
	Gone, TooOften, PhotoLarge, PhotoKind, PhotoBroken, Incomplete, Failed, Trapped string
	Wrong                                                                           map[string]string
}

// choice is one answer of a question that offers its answers.
type choice struct{ Value, Text, Help string }

// written are the languages that the page is written in, the first for whoever asks for none of them.
var written = []func() texts{englishTexts, germanTexts, frenchTexts}
